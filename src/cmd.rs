//! The verbs: one file each. `main` sends a line here when its first word is one of them.

pub mod tidy;
mod hint;
pub mod run;
pub mod desk;
mod page;
pub mod paint;
pub mod timeline;
pub mod why;
mod whole;
pub mod explain;
pub mod next;
pub mod show;
pub mod sessions;
pub mod judge;
pub mod playbook;
pub mod import;
pub mod search;
pub mod serve;
pub mod keep;
pub mod doctor;
pub mod demo;
pub mod verbs;
