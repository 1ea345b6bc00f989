//! The formats, one module for each family.

pub(crate) mod findings;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod xml;
