//! The name that was probably meant.

/// The known name that is most like a wrong one, when one is like it at all.
pub(super) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (wrong.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(wrong, name), name))
        .filter(|(far, _)| *far <= most)
        .min()
        .map(|(_, name)| name)
}

/// What is said of it.
pub(super) fn meant(near: &str) -> String {
    format!("did you mean `{near}`?")
}
