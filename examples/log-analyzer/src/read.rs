//! Recognising a file and reading it.
