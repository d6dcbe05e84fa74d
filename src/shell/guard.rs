//! Text that the grammar must not see: what nests without end, or repeats what it reads again and
//! again. Found by feeding it every pair of tokens a few thousand times: some overflow its stack
//! (`time` after `time`, `(${` …), some take minutes (`((` a line, thousands of here-documents).

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    /// What panics here is caught, and no word is said of it.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// What comes of a parse; nothing where the parser panics (0.2.8 cuts within a letter where a quoted
/// backtick stands behind an escape and a letter of several bytes: `"\"é`x`"`).
pub(super) fn unless_it_falls<T>(parse: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |told| {
            if !CAUGHT.get() {
                before(told);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    let parsed = panic::catch_unwind(panic::AssertUnwindSafe(parse)).ok();
    CAUGHT.set(outer);
    parsed
}

/// Brackets open at the same time.
const MAX_OPEN: usize = 100;
/// `${` open at the same time.
const MAX_OPEN_EXPANSIONS: usize = 40;
/// `time` and `coproc` in one text.
const MAX_TIMES: usize = 40;
/// Here-documents and here-strings in one text.
const MAX_HEREDOCS: usize = 400;

/// Why a text is left to the crude reader; `None` for every text that people write. Linear.
pub(super) fn too_wild(text: &str) -> Option<&'static str> {
    let (mut round, mut square, mut expansions) = (0_usize, 0_usize, 0_usize);
    let mut curly = 0_usize;
    let (mut times, mut heredocs) = (0_usize, 0_usize);
    let mut body_ends: Option<&str> = None;
    for line in text.lines() {
        // The body of a quoted here-document is opaque, whatever it holds.
        if let Some(end) = body_ends {
            if line.trim_start_matches('\t') == end {
                body_ends = None;
            }
            continue;
        }
        let bytes = line.as_bytes();
        let mut previous = 0_u8;
        for byte in bytes {
            match byte {
                b'(' => round += 1,
                b')' => round = round.saturating_sub(1),
                b'[' => square += 1,
                b']' => square = square.saturating_sub(1),
                b'{' if previous == b'$' => expansions += 1,
                b'{' => curly += 1,
                b'}' => {
                    expansions = expansions.saturating_sub(1);
                    curly = curly.saturating_sub(1);
                }
                b'<' if previous == b'<' => heredocs += 1,
                _ => {}
            }
            previous = *byte;
            let most = round.max(square).max(curly);
            if most > MAX_OPEN || expansions > MAX_OPEN_EXPANSIONS {
                return Some("it opens more brackets inside each other than are followed");
            }
        }
        times += line
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| matches!(*word, "time" | "coproc"))
            .count();
        if times > MAX_TIMES || heredocs > MAX_HEREDOCS {
            return Some("it repeats what is costly to read");
        }
        body_ends = quoted_delimiter(line);
    }
    None
}

/// The delimiter of a here-document whose body is not expanded, if the line opens one.
fn quoted_delimiter(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("<<")?;
    let rest = rest.trim_start_matches('-').trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (delimiter, _) = rest.get(1..)?.split_once(quote)?;
    (!delimiter.is_empty()).then_some(delimiter)
}

#[cfg(test)]
mod tests {
    use super::too_wild;

    #[test]
    fn only_wild_text_is_kept_from_the_grammar() {
        let script = format!(
            "cat > x << 'E'\n{}E\nls",
            "if (( a[1] )); then time (\n".repeat(500)
        );
        assert_eq!(too_wild(&script), None);
        assert_eq!(
            too_wild("for i in $(seq 3); do echo \"${i}\" [x] ((i)); done"),
            None
        );
        for wild in [
            "time ",
            "\ncoproc ",
            "((\n",
            "(${",
            "<<E\n$(",
            "<<<\\",
            "a[",
            "${x:-",
            "{a,b}{",
            "echo {a,",
        ] {
            assert!(too_wild(&wild.repeat(4000)).is_some(), "{wild}");
        }
    }
}
