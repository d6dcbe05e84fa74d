//! casebook: an event-sourced session recorder and diagnostic knowledge base. `ARCHITECTURE.md`
//! is the map; modules are listed in reading order, and each may use only those above it.

pub mod id;
pub mod time;
pub mod event;
pub mod shell;
pub mod redact;
pub mod text;
pub mod capture;
pub mod fact;
pub mod probe;
pub mod timeline;
pub mod playbook;
pub mod diagnosis;
pub mod store;
pub mod index;
pub mod import;
pub mod export;
pub mod settings;
pub mod projection;
pub mod report;
pub mod web;
pub mod cli;
pub mod cmd;
