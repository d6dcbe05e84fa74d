//! A stream with a secret in it, cut anywhere: the secret never comes out, and what is not masked
//! comes out as it went in.

#![no_main]

use casebook::redact::{MARK, Marker, Streamer, samples};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [which, place, step, noise @ ..] = data else {
        return;
    };
    let samples = samples();
    let Some((text, secret)) = samples.get(usize::from(*which) % samples.len()) else {
        return;
    };
    // Compared strings find their way into the noise: there the secret need not be written as one.
    if noise.windows(secret.len()).any(|window| window == secret.as_bytes()) {
        return;
    }
    // The secret on a line of its own, so that the noise around it does not reach into it.
    let at = noise.len() * usize::from(*place) / 256;
    let (before, after) = noise.split_at(at);
    let bytes = [before, b"\x1b\\\x07\n", text.as_bytes(), after].concat();
    let whole = masked(&bytes, bytes.len());
    assert_eq!(masked(&bytes, usize::from(*step) + 1), whole, "how it comes matters");
    let count = |bytes: &[u8], what: &str| {
        bytes.windows(what.len()).filter(|window| *window == what.as_bytes()).count()
    };
    assert_eq!(count(&whole, secret), 0, "a secret came out");
    if count(&bytes, MARK) == 0 {
        let mut rest = &bytes[..];
        for piece in unmasked(&whole) {
            for byte in piece {
                let Some(step) = rest.iter().position(|own| own == byte) else {
                    panic!("a byte came out that did not go in");
                };
                rest = &rest[step + 1..];
            }
        }
    }
});

fn masked(bytes: &[u8], step: usize) -> Vec<u8> {
    let mut stream = Streamer::new(Marker::default(), Some(80));
    let mut out = Vec::new();
    for piece in bytes.chunks(step.max(1)) {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

/// What stands between the masks.
fn unmasked(text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK.as_bytes()) {
        let (piece, mask) = rest.split_at(at);
        pieces.push(piece);
        let end = mask[MARK.len()..].windows(2).position(|window| window == b"__");
        rest = mask.get(MARK.len() + end.map_or(0, |end| end + 2)..).unwrap_or_default();
    }
    pieces.push(rest);
    pieces
}
