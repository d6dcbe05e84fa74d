//! The one integration test binary. Tests run the real `rec` in a cleared environment, over real
//! shells and pseudo-terminals; nothing here reaches another machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may stop where it stands"
)]

mod bench;
mod fidelity;
mod fidelity_tty;
mod import;
mod layers;
mod pty;
mod search;
mod store;
mod web;
