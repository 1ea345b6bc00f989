//! What the output of the macros names. Not for anything else.
