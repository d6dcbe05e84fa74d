//! The alignment of lines to those who can have printed them: a monotone dynamic programme.
//!
//! Invocations print in the order they run (loops may go round), each line belongs to one of them or
//! to nobody, and the sum of how well lines fit is made as large as can be. Forward and backward sums
//! give, for each line, the best reading in which it is another's: where that is about as good, the
//! line stays unclaimed. Cost: lines times states; [`most_lines`] keeps that in bounds.

use std::collections::HashMap;

use super::{Confidence, Fit, LineFit};

/// States a speaker may have for counting its lines.
const MOST_COUNTED: usize = 64;
/// How much better the chosen reading must be than the next one.
const CLEAR: f32 = 0.75;
/// What it costs when an invocation that should print does not.
const MISSING: f32 = 6.0;
/// What it costs when an invocation that usually prints so many lines prints fewer.
const FEWER: f32 = 0.35;
/// The same where it asks for so few that nearly every file has them.
const FEWER_OF_FEW: f32 = 0.5;
/// So few.
const FEW: usize = 1;
/// How well a number alone fits at most.
const BARE: f32 = 1.5;
const IMPOSSIBLE: f32 = -1.0e9;

fn weight(fit: Fit) -> f32 {
    match fit {
        Fit::No => IMPOSSIBLE,
        Fit::Hardly => 0.25,
        Fit::Perhaps => 1.0,
        Fit::Likely => 4.0,
        Fit::Surely => 8.0,
    }
}

/// How well a line fits as a complaint.
pub(super) type ComplaintFit<'a> = Box<dyn Fn(&str) -> Fit + 'a>;

/// What a speaker offers for the lines of one stream.
pub(super) struct Offer<'a> {
    /// Whose it is.
    pub party: usize,
    /// It prints at least so many lines.
    pub min: usize,
    /// It usually prints so many.
    pub usual: usize,
    /// It prints at most so many.
    pub max: Option<usize>,
    /// How well a line fits, when it can print here.
    pub fit: Option<LineFit<'a>>,
    /// How well a line fits as a complaint, when its complaints come here.
    pub err: Option<ComplaintFit<'a>>,
    /// The loop it is in.
    pub group: Option<usize>,
    /// Only the shell can speak of it here, of a redirection it could not make.
    pub by_shell: bool,
    /// What it costs when it prints at all.
    pub reluctance: f32,
}

impl Offer<'_> {
    /// States: how many lines it has, up to this many told apart.
    fn cap(&self) -> usize {
        self.max
            .unwrap_or(self.min.max(self.usual).max(2))
            .min(MOST_COUNTED)
    }

    fn leave_cost(&self, lines: usize) -> f32 {
        if lines < self.min {
            MISSING
        } else if lines < self.usual.min(self.cap()) {
            if self.usual <= FEW {
                FEWER_OF_FEW
            } else {
                FEWER
            }
        } else {
            0.0
        }
    }
}

/// The party of a line, and how sure that is.
pub(super) type Owner = Option<(usize, Confidence)>;

/// Lines in runs of one owner each, in order.
pub(super) fn runs<T>(lines: Vec<T>, owners: &[Owner]) -> Vec<(Owner, Vec<T>)> {
    let party = |owner: &Owner| owner.map(|(party, _)| party);
    let runs: Vec<&[Owner]> = owners
        .chunk_by(|one, next| party(one) == party(next))
        .collect();
    let owner = |run: &[Owner]| run.first().copied().flatten();
    // Most outputs are one look's.
    if let [only] = runs.as_slice() {
        return vec![(owner(only), lines)];
    }
    let mut lines = lines.into_iter();
    let run = |run: &&[Owner]| (owner(run), lines.by_ref().take(run.len()).collect());
    runs.iter().map(run).collect()
}

/// Lines aligned at once when nothing else bounds it.
const MOST_LINES: usize = 3_000;
/// Cells of the table at most.
const MOST_CELLS: usize = 2_000_000;

/// How many lines are aligned at once: of more, the first and the last half.
pub(super) fn most_lines(offers: &[Offer<'_>]) -> usize {
    let states: usize = offers.iter().map(|offer| offer.cap() + 1).sum();
    (MOST_CELLS / states.max(1)).clamp(20, MOST_LINES)
}

/// The tables of the dynamic programme: state (offer, lines so far), flattened.
struct Table {
    first: Vec<usize>,
    caps: Vec<usize>,
    states: usize,
}

impl Table {
    fn of(offers: &[Offer<'_>]) -> Self {
        let mut first = Vec::new();
        let mut caps = Vec::new();
        let mut states = 1; // state 0: nobody has spoken
        for offer in offers {
            first.push(states);
            caps.push(offer.cap());
            states += offer.cap() + 1;
        }
        Self {
            first,
            caps,
            states,
        }
    }

    fn at(&self, offer: usize, lines: usize) -> usize {
        let cap = self.caps.get(offer).copied().unwrap_or(0);
        self.first.get(offer).copied().unwrap_or(0) + lines.min(cap)
    }
}

/// How each offer takes a line: by the number of lines it already has, and as a complaint.
struct Taken {
    as_nth: Vec<Vec<f32>>,
    as_error: Vec<f32>,
}

/// A number alone: many a look prints one, so that it tells little of whose it is.
fn is_bare_number(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.len() <= 10 && line.bytes().all(|byte| byte.is_ascii_digit())
}

fn taken(line: &str, offers: &[Offer<'_>], table: &Table) -> Taken {
    let most = if is_bare_number(line) { BARE } else { f32::MAX };
    let as_nth = offers
        .iter()
        .zip(&table.caps)
        .map(|(offer, cap)| {
            (0..=*cap)
                .map(|nth| match &offer.fit {
                    Some(fit) if offer.max.is_none_or(|max| nth < max) => {
                        weight(fit(line, nth)).min(most)
                    }
                    _ => IMPOSSIBLE,
                })
                .collect()
        })
        .collect();
    let as_error = offers
        .iter()
        .map(|offer| {
            offer
                .err
                .as_ref()
                .map_or(IMPOSSIBLE, |fit| weight(fit(line)))
        })
        .collect();
    Taken { as_nth, as_error }
}

/// Gives each line to an offer, or to nobody where that is not clear.
pub(super) fn align(lines: &[&str], offers: &[Offer<'_>], programs: &[&str]) -> Vec<Owner> {
    if offers.is_empty() {
        return vec![None; lines.len()];
    }
    let table = Table::of(offers);
    let taken: Vec<Taken> = lines
        .iter()
        .map(|line| taken(line, offers, &table))
        .collect();
    let mut ahead = vec![vec![IMPOSSIBLE; table.states]; lines.len() + 1];
    if let Some(last) = ahead.last_mut() {
        ends(last, offers, &table);
    }
    for at in (0..lines.len()).rev() {
        let (now, next) = ahead.split_at_mut(at + 1);
        if let (Some(now), Some(next), Some(taken)) = (now.last_mut(), next.first(), taken.get(at))
        {
            step_back(now, next, taken, offers, &table);
        }
    }
    let mut behind = vec![IMPOSSIBLE; table.states];
    if let Some(start) = behind.first_mut() {
        *start = 0.0;
    }
    let mut owners = Vec::with_capacity(lines.len());
    let mut said: HashMap<&str, usize> = HashMap::new();
    for ((line, taken), next) in lines.iter().zip(&taken).zip(ahead.iter().skip(1)) {
        let (after, best) = step_forward(&behind, next, taken, offers, &table);
        let before = said.entry(line).or_default();
        owners.push(clear_owner(&best, offers, programs, *before));
        *before += 1;
        behind = after;
    }
    fill(lines, offers, &mut owners);
    owners
}

/// Gives the lines between two that are surely one speaker's to it as well, where it can have printed
/// them: those who run before it and after it do not speak in its midst. Not so in a loop.
fn fill(lines: &[&str], offers: &[Offer<'_>], owners: &mut [Owner]) {
    let mut last: Option<(usize, usize)> = None; // a line and whose it surely is
    for at in 0..owners.len() {
        let Some(Some((party, confidence))) = owners.get(at).copied() else {
            continue;
        };
        let before = last.replace((at, party));
        if confidence != Confidence::Sure {
            last = None;
        }
        let Some((from, _)) = before
            .filter(|(from, owner)| *owner == party && from + 1 < at)
            .filter(|_| confidence == Confidence::Sure)
        else {
            continue;
        };
        let Some(offer) = offers
            .iter()
            .find(|offer| offer.party == party && offer.group.is_none())
        else {
            continue;
        };
        let own = owners.iter().flatten().filter(|one| one.0 == party).count();
        if offer.max.is_some_and(|max| own + (at - from - 1) > max) {
            continue;
        }
        for between in from + 1..at {
            let fits = lines.get(between).is_some_and(|line| {
                offer
                    .fit
                    .as_ref()
                    .is_some_and(|fit| fit(line, 1) != Fit::No)
            });
            if fits && let Some(slot) = owners.get_mut(between) {
                *slot = Some((party, Confidence::Likely));
            }
        }
    }
}

/// The owner whose best reading is clearly the best of all. Complaints of several invocations of one
/// program (`programs` names them, empty for lines that are no complaints) go to the first of them;
/// the same complaint again (it came so often `before`) to the next one.
fn clear_owner(best: &[f32], offers: &[Offer<'_>], programs: &[&str], before: usize) -> Owner {
    let mut order: Vec<(usize, f32)> = best.iter().copied().enumerate().collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (winner, score) = *order.first()?;
    let margin = score - order.get(1).map_or(IMPOSSIBLE, |second| second.1);
    let party = offers.get(winner)?.party; // the last place stands for nobody
    if margin >= 2.0 {
        return Some((party, Confidence::Sure));
    }
    if margin >= CLEAR {
        return Some((party, Confidence::Likely));
    }
    let program = *programs.get(winner).filter(|program| !program.is_empty())?;
    let close = order.iter().take_while(|(_, other)| score - other < CLEAR);
    let mut tied = vec![];
    for (at, _) in close {
        if programs.get(*at) != Some(&program) {
            return None;
        }
        tied.push(*at);
    }
    tied.sort_unstable();
    let one = tied.get(before).or(tied.last())?;
    Some((offers.get(*one)?.party, Confidence::Likely))
}

fn skip_cost(offer: &Offer<'_>) -> f32 {
    offer.leave_cost(0)
}

/// Scores of ending in each state.
fn ends(last: &mut [f32], offers: &[Offer<'_>], table: &Table) {
    let mut skips = 0.0;
    for (at, offer) in offers.iter().enumerate().rev() {
        for lines in 0..=offer.cap() {
            if let Some(slot) = last.get_mut(table.at(at, lines)) {
                *slot = -offer.leave_cost(lines) - skips;
            }
        }
        skips += skip_cost(offer);
    }
    if let Some(start) = last.first_mut() {
        *start = -skips;
    }
}

/// The best of entering an offer with this line, given the scores ahead.
fn entering(at: usize, next: &[f32], taken: &Taken, table: &Table, cost: f32) -> f32 {
    let line = taken
        .as_nth
        .get(at)
        .and_then(|nth| nth.first())
        .copied()
        .unwrap_or(IMPOSSIBLE)
        + next.get(table.at(at, 1)).copied().unwrap_or(IMPOSSIBLE);
    let error = taken.as_error.get(at).copied().unwrap_or(IMPOSSIBLE)
        + next.get(table.at(at, 0)).copied().unwrap_or(IMPOSSIBLE);
    line.max(error) - cost
}

/// Fills `now` (scores of all lines from this one on, by state) from `next`.
fn step_back(now: &mut [f32], next: &[f32], taken: &Taken, offers: &[Offer<'_>], table: &Table) {
    let enter: Vec<f32> = offers
        .iter()
        .enumerate()
        .map(|(at, offer)| entering(at, next, taken, table, offer.reluctance))
        .collect();
    let mut later = IMPOSSIBLE; // best entry into an offer after this one
    for (at, offer) in offers.iter().enumerate().rev() {
        let around = offer.group.map_or(IMPOSSIBLE, |group| {
            (0..=at)
                .filter(|other| offers.get(*other).and_then(|offer| offer.group) == Some(group))
                .filter_map(|other| enter.get(other).copied())
                .fold(IMPOSSIBLE, f32::max)
        });
        for lines in 0..=offer.cap() {
            let state = table.at(at, lines);
            let stay = next.get(state).copied().unwrap_or(IMPOSSIBLE);
            let error = stay + taken.as_error.get(at).copied().unwrap_or(IMPOSSIBLE);
            let more = taken
                .as_nth
                .get(at)
                .and_then(|nth| nth.get(lines))
                .copied()
                .unwrap_or(IMPOSSIBLE)
                + next
                    .get(table.at(at, lines + 1))
                    .copied()
                    .unwrap_or(IMPOSSIBLE);
            let leave = later.max(around) - offer.leave_cost(lines);
            if let Some(slot) = now.get_mut(state) {
                *slot = stay.max(error).max(more).max(leave).max(IMPOSSIBLE);
            }
        }
        later = enter
            .get(at)
            .copied()
            .unwrap_or(IMPOSSIBLE)
            .max(later - skip_cost(offer));
    }
    if let Some(start) = now.first_mut() {
        *start = next.first().copied().unwrap_or(IMPOSSIBLE).max(later);
    }
}

/// From the scores behind this line to those behind the next one, and the best whole reading by the
/// line's owner (the last place: nobody).
fn step_forward(
    behind: &[f32],
    next: &[f32],
    taken: &Taken,
    offers: &[Offer<'_>],
    table: &Table,
) -> (Vec<f32>, Vec<f32>) {
    let mut after = vec![IMPOSSIBLE; table.states];
    let mut best = vec![IMPOSSIBLE; offers.len() + 1];
    let mut put = |state: usize, score: f32, owner: usize| {
        if let Some(slot) = after.get_mut(state) {
            *slot = slot.max(score);
        }
        let whole = score + next.get(state).copied().unwrap_or(IMPOSSIBLE);
        if let Some(slot) = best.get_mut(owner) {
            *slot = slot.max(whole);
        }
    };
    let nobody = offers.len();
    for (state, score) in behind.iter().enumerate() {
        put(state, *score, nobody);
    }
    let left: Vec<f32> = offers
        .iter()
        .enumerate()
        .map(|(at, offer)| {
            (0..=offer.cap())
                .map(|lines| {
                    behind
                        .get(table.at(at, lines))
                        .copied()
                        .unwrap_or(IMPOSSIBLE)
                        - offer.leave_cost(lines)
                })
                .fold(IMPOSSIBLE, f32::max)
        })
        .collect();
    let mut entry = behind.first().copied().unwrap_or(IMPOSSIBLE); // best way to stand before this one
    for (at, offer) in offers.iter().enumerate() {
        let around = offer.group.map_or(IMPOSSIBLE, |group| {
            (at..offers.len())
                .filter(|other| offers.get(*other).and_then(|offer| offer.group) == Some(group))
                .filter_map(|other| left.get(other).copied())
                .fold(IMPOSSIBLE, f32::max)
        });
        let from = entry.max(around) - offer.reluctance;
        let first = taken
            .as_nth
            .get(at)
            .and_then(|nth| nth.first())
            .copied()
            .unwrap_or(IMPOSSIBLE);
        let error = taken.as_error.get(at).copied().unwrap_or(IMPOSSIBLE);
        put(table.at(at, 1), from + first, at);
        put(table.at(at, 0), from + error, at);
        for lines in 0..=offer.cap() {
            let score = behind
                .get(table.at(at, lines))
                .copied()
                .unwrap_or(IMPOSSIBLE);
            let more = taken
                .as_nth
                .get(at)
                .and_then(|nth| nth.get(lines))
                .copied()
                .unwrap_or(IMPOSSIBLE);
            put(table.at(at, lines + 1), score + more, at);
            put(table.at(at, lines), score + error, at);
        }
        entry = (entry - skip_cost(offer)).max(left.get(at).copied().unwrap_or(IMPOSSIBLE));
    }
    (after, best)
}
