// Everything here adds to pages that work without it: opening in place, lighting up, filters, news, keys.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const desk = $(".desk[data-session]");
  const base = desk ? desk.dataset.session : null;

  // The server's own HTML (it escapes what was recorded); never a recorded text.
  const part = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html").body;
  };

  // Opening a row fetches its output once.
  const fill = async (details) => {
    if (!details.open || details.dataset.full) return;
    details.dataset.full = "yes";
    try {
      const body = await part(details.dataset.src);
      $(".opened", details).replaceChildren(...body.childNodes);
    } catch {
      delete details.dataset.full;
    }
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details[data-src]")) fill(event.target);
  }, true);

  // Chips light up lines; findings light up their rows, and rows' findings light up the column.
  const light = (element, on) => {
    if (!element) return;
    const lines = (element.dataset.lit || "").split(" ").filter(Boolean);
    const rows = (element.dataset.rows || element.dataset.row || "").split(" ").filter(Boolean);
    const found = element.dataset.finding ? [element.dataset.finding] : [];
    [...lines, ...rows.map((n) => `c${n}`), ...found].forEach((id) =>
      document.getElementById(id)?.classList.toggle("lit", on));
  };
  const LIGHTS = "[data-lit], [data-rows], [data-row], [data-finding]";
  let lit = null;
  const point = (event) => {
    const now = event.target.closest?.(LIGHTS) ?? null;
    if (now === lit) return;
    light(lit, false);
    light(now, true);
    lit = now;
  };
  ["pointerover", "focusin"].forEach((kind) => document.addEventListener(kind, point));

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      try {
        await navigator.clipboard.writeText(copy.dataset.copy);
        copy.classList.add("done");
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Select it by hand";
      }
      setTimeout(() => { copy.textContent = "Copy"; copy.classList.remove("done"); }, 1600);
    }
    if (event.target.closest("[data-print]")) print();
    const row = event.target.closest("a[data-row]");
    const there = row && base && document.getElementById(`c${row.dataset.row}`);
    if (there && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      tab("timeline");
      step(there);
    }
    const finding = event.target.closest("a[data-finding]");
    if (finding) {
      tab("know");
      const card = document.getElementById(finding.dataset.finding);
      const fold = card?.closest(".fold-finding");
      if (fold) fold.open = true;
    }
    const to = event.target.closest("[data-tab]");
    if (to) { event.preventDefault(); tab(to.dataset.tab); scrollTo(0, 0); }
  });

  // Tabs, on a phone.
  const tab = (name) => {
    if (!$(".tabs")) return;
    document.body.dataset.tab = name;
    $$(".tabs a").forEach((a) => a.classList.toggle("here", a.dataset.tab === name));
  };
  tab("timeline");

  // Keys.
  const steps = () => $$("[data-step]").filter((one) => one.getClientRects().length > 0);
  const at = () => $("[data-step].at");
  const step = (to) => {
    if (!to) return;
    at()?.classList.remove("at");
    to.classList.add("at");
    to.scrollIntoView({ block: "nearest" });
    const edge = to.getBoundingClientRect();
    if (edge.top < 64) scrollBy(0, edge.top - 64);
    ($("summary, a", to) ?? to).focus({ preventScroll: true });
  };
  const move = (by) => {
    const all = steps();
    const now = all.indexOf(at());
    step(all[now < 0 ? 0 : Math.min(all.length - 1, Math.max(0, now + by))]);
  };
  const KEYS = {
    j: () => move(1),
    k: () => move(-1),
    g: () => step(steps()[0]),
    G: () => step(steps().at(-1)),
    o: () => {
      const details = at() && $("details", at());
      if (details) details.open = !details.open; else at() && $("a", at())?.click();
    },
    p: () => { const n = at()?.dataset.number; if (n && base) location.href = `${base}/${n}`; },
    c: () => $(".next [data-copy]")?.click(),
    n: () => show(),
    f: () => { tab("side"); $("[data-filter-text]")?.focus(); },
    "/": () => ($("#big-find") ?? $("#find")).focus(),
    "?": () => $("#keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input, textarea")) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const act = KEYS[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  if (!base) return;

  // Filters, in place.
  const form = $(".filters");
  let turn = 0;
  const filter = async () => {
    const mine = ++turn;
    const pairs = [...new FormData(form)].filter(([, value]) => value);
    const query = new URLSearchParams(pairs).toString();
    const body = await part(`${base}/rows?${query}`);
    if (mine !== turn) return;
    $("#timeline").replaceChildren(...body.childNodes);
    history.replaceState(null, "", query ? `?${query}` : base);
  };
  let wait = 0;
  form.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => filter().catch(() => form.submit()), 160);
  });

  // News. New rows come below and shift nothing; what stands is replaced at once only while the
  // reader is elsewhere (typing in a terminal), else when the reader asks for it.
  const pill = $("#pill");
  const heading = document.title;
  let fresh = [];
  let stale = false;
  const tell = () => {
    const words = fresh.length ? `${fresh.length} new` : stale ? "Updated: show" : "";
    pill.textContent = words;
    pill.hidden = !words;
    document.title = fresh.length ? `(${fresh.length}) ${heading}` : heading;
  };
  const know = async () => {
    const body = await part(`${base}/know`);
    const open = $$("#know details[open]").map((one) => $("[id]", one)?.id ?? one.closest("[id]")?.id);
    $("#know").replaceChildren(...body.childNodes);
    open.forEach((id) => document.getElementById(id)?.closest("details")?.setAttribute("open", ""));
    stale = false;
  };
  const show = async () => {
    const first = fresh[0];
    fresh = [];
    if (stale) await know().catch(() => {});
    tell();
    if (first) step(first);
  };
  pill.addEventListener("click", (event) => { event.preventDefault(); show(); });

  const newest = () => Number($("#timeline .part")?.dataset.newest ?? 0);
  const isFiltered = () => location.search.length > 1;
  const refresh = async () => {
    for (const row of $$("#timeline [data-running]")) {
      const body = await part(`${base}/rows?only=${row.dataset.number}`);
      const other = body.querySelector(`#c${row.dataset.number}`);
      if (!other) continue;
      const was = $("details", row);
      if (was.open) { $("details", other).open = true; }
      row.replaceWith(other);
      if (was.open) fill($("details", other));
    }
    if (!isFiltered()) {
      const body = await part(`${base}/rows?after=${newest()}`);
      const rows = $$("li.row", body);
      if (rows.length) {
        let list = $("#timeline > .part > .rows");
        $$("#timeline .teach").forEach((one) => one.remove());
        list.append(...rows);
        $("#timeline .part").dataset.newest = $(".part", body).dataset.newest;
        fresh.push(...rows);
      }
    }
    stale = true;
    if (!document.hasFocus()) await know();
    if (document.hasFocus() === false && scrollY + innerHeight > root.scrollHeight - 240) fresh = [];
    tell();
  };
  let busy = null;
  let again = false;
  const changed = async () => {
    if (busy) { again = true; return; }
    busy = refresh().catch(() => {});
    await busy;
    busy = null;
    if (again) { again = false; changed(); }
  };
  const source = new EventSource(`${base}/events`);
  source.addEventListener("changed", changed);
  if ($("[data-waiting]")) know().catch(() => {});
})();
