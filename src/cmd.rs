//! The verbs: one file each. `main` sends a line here when its first word is one of them.

pub mod desk;
pub mod next;
mod page;
pub mod paint;
pub mod sessions;
pub mod show;
pub mod timeline;
pub mod why;
