//! Recording: runs a command so that it cannot tell, and keeps what it printed.
//!
//! A command's record is its *spool* ([`spool`]): one append-only file of framed, checksummed
//! records under [`home::Home`]. The database is not touched here; it follows the spools. Which
//! session a command belongs to, and its number in it, come from small locked files ([`session`]).
//!
//! [`run`] is the recorder itself: it decides which descriptors need a pseudo-terminal, starts the
//! command ([`spawn`], [`pty`], [`shim`]), and pumps bytes ([`pump`]) first to the spool
//! ([`writer`], [`keep`]) and then to the user ([`sink`]). What the command leaves behind is looked
//! after by the shim or a [`relay`]. Whatever goes wrong with recording, the command runs on.
//! [`quiet`] records a command in-process without showing its output.
//!
//! All `unsafe` of this crate is in [`sys`].

pub mod home;
pub mod keys;
pub mod spool;
pub mod locked;
pub mod session;
pub mod sys;
pub mod modes;
pub mod named;
pub mod keep;
pub mod writer;
pub mod spawn;
pub mod sink;
pub mod pty;
pub mod shim;
pub mod pump;
pub mod relay;
pub mod run;
pub mod quiet;
