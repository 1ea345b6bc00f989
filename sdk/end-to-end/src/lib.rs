//! Nothing to use: this crate holds the server `probe`, whose tools misbehave in every way that
//! the SDK has to survive, and the tests that run it.
