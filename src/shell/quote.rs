//! Quoting for a POSIX shell: the inverse of the parser.

/// Quotes a word so that a POSIX shell reads exactly it.
pub fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Joins an argument vector into a line that a POSIX shell reads back as the same words.
pub fn join(argv: &[String]) -> String {
    argv.iter()
        .map(|word| quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}
