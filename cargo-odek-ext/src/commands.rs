//! One module for each verb.

pub(crate) mod call;
pub(crate) mod demo;
pub(crate) mod new;
