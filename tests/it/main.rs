//! The one integration test binary. Tests run the real `rec` in a cleared environment, over real
//! shells and pseudo-terminals; nothing here reaches another machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may stop where it stands"
)]

mod amiss;
mod attribution;
mod author;
mod bad_input;
mod bench;
mod cases;
mod conformance;
mod contract;
mod demo;
mod docs;
mod fidelity;
mod fidelity_programs;
mod fidelity_table;
mod fidelity_tty;
mod import;
mod kills;
mod lab;
mod layers;
mod live;
mod mishaps;
mod pty;
mod redact;
mod search;
mod store;
mod web;
