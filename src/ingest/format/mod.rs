//! How a record is written: one file for each format.

pub(super) mod csv;
pub(super) mod json;
