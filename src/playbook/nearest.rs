//! The name that was probably meant.

/// The known name that is most like a wrong one, when one is like it at all.
pub(super) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (wrong.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, name)| name)
}

/// What is said of it.
pub(super) fn meant(near: &str) -> String {
    format!("did you mean `{near}`?")
}

/// How many letters must be put in, taken out, changed or swapped to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    let mut last = None;
    for (index, a) in one.chars().enumerate() {
        let mut next = vec![index + 1];
        for (at, b) in other.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best = (cell(&row, at) + usize::from(a != *b))
                .min(cell(&row, at + 1) + 1)
                .min(cell(&next, at) + 1);
            let swapped = at > 0 && last == Some(*b) && other.get(at - 1) == Some(&a);
            if swapped {
                best = best.min(cell(&before, at - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(a);
    }
    row.last().copied().unwrap_or(0)
}
