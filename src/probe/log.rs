//! Looks into logs.
