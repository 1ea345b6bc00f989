//! Text in any encoding, with terminal control sequences taken out.
