//! The formats, one module for each family.
