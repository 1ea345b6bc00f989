//! Every mistake that the macros find, with the exact text an author reads.
//!
//! After a change, `TRYBUILD=overwrite cargo test -p odek-sdk --test compile_fail` writes the
//! texts anew; read the difference before committing it.

#[test]
fn mistakes_are_compile_errors_at_the_right_place() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
