//! One module for each verb.

pub(crate) mod new;
