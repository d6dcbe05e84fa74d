//! Projections: what follows from the event log, kept up to date and made again on demand.
//!
//! Events come in ([`mod@ingest`]), the read tables follow them ([`fold`]), facts are read from output
//! when a session is looked at ([`facts`]), and [`view`] puts a session together for whoever shows
//! or diagnoses it. Everything here can be dropped and rebuilt ([`rebuild`]); what cannot be derived
//! again is an event.

pub mod facts;
pub mod fold;
pub mod forget;
pub mod library;
pub mod ingest;
pub mod mend;
mod parallel;
pub mod rebuild;
pub mod view;
pub mod missing;
pub mod judge;
pub mod experience;
pub mod backtest;
pub mod postmortem;

pub use ingest::{IngestError, Ingested, Patience, ingest};
pub use view::{Detail, SessionView, session, session_from_log};
