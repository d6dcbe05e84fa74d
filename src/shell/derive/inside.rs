//! Which of the variables that were expanded on the way belong to the inner side.

use crate::shell::build::Builder;
use crate::shell::{EarlyExpansion, RedirectTo};

/// Longest text that is searched for assignments, in bytes.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;
/// Texts that are searched for one hop.
const MAX_TEXTS: usize = 8;

/// Fills in [`EarlyExpansion::meant_inside`].
pub(super) fn mark(b: &Builder, early: &mut [EarlyExpansion]) {
    for one in early.iter_mut().take(64) {
        let texts = texts(b, one);
        one.meant_inside = one
            .names
            .iter()
            .filter(|name| texts.iter().any(|text| belongs(text, name)))
            .cloned()
            .collect();
    }
}

/// The texts that the inner side reads: those of the shells under the hop, and what is fed to it.
fn texts<'a>(b: &'a Builder, early: &EarlyExpansion) -> Vec<&'a str> {
    let under = |hop: usize| hop == early.hop || b.tree.hop_chain(hop).contains(&early.hop);
    let shells = b.tree.shells.iter();
    let shells = shells
        .filter(|shell| shell.started_by.is_some_and(under))
        .map(|shell| shell.text.as_str());
    let fed = b.tree.invocations.get(early.hop).into_iter();
    let fed = fed
        .flat_map(|hop| &hop.redirects)
        .filter_map(|redirect| match &redirect.to {
            RedirectTo::Text { body, .. } => Some(body.as_str()),
            _ => None,
        });
    fed.chain(shells)
        .filter(|text| text.len() <= MAX_SEARCHED_BYTES)
        .take(MAX_TEXTS)
        .collect()
}

fn belongs(text: &str, name: &str) -> bool {
    let uses = || {
        let braced = format!("${{{name}");
        let bare = format!("${name}");
        let ends = move |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let found = |form: String, text: &str| {
            text.match_indices(&form)
                .filter(|(at, form)| text.get(at + form.len()..).is_some_and(ends))
                .map(|(at, _)| at)
                .last()
        };
        found(bare, text).max(found(braced, text))
    };
    match name {
        // Each shell has its own.
        "!" => text.contains('&'),
        "?" | "PIPESTATUS" => true,
        "$" | "BASHPID" => true,
        name if !name.is_empty() && name.chars().all(|c| c.is_ascii_digit()) => {
            text.contains("awk ") || text.starts_with("#!")
        }
        name => uses().is_some_and(|last| assigned(text, name).is_some_and(|at| at < last)),
    }
}

/// Where a text first gives a variable a value of its own (not `X=$X`, which hands one over).
fn assigned(text: &str, name: &str) -> Option<usize> {
    let starts = |at: usize| {
        text.get(..at)
            .and_then(|before| before.chars().next_back())
            .is_none_or(|c| c.is_whitespace() || ";&|({`".contains(c))
    };
    let sets = text
        .match_indices(&format!("{name}="))
        .filter(|(at, form)| {
            let value = text.get(at + form.len()..).unwrap_or("");
            let value = value.trim_start_matches(['"', '\'']);
            let handed = [format!("${name}"), format!("${{{name}")];
            starts(*at) && !handed.iter().any(|form| value.starts_with(form.as_str()))
        })
        .map(|(at, _)| at)
        .next();
    let loops = ["for ", "read ", "read -r "].iter().filter_map(|word| {
        text.match_indices(&format!("{word}{name}"))
            .find(|(at, form)| {
                starts(*at)
                    && text.get(at + form.len()..).is_some_and(|rest| {
                        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                    })
            })
            .map(|(at, _)| at)
    });
    sets.into_iter().chain(loops).min()
}
