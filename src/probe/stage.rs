//! Stages.
