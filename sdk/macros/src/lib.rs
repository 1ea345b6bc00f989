//! The attribute macros of `odek-sdk`.
//!
//! Authors use them through `odek_sdk`, where they are documented; their output names only
//! `::odek_sdk`. This file is the thin front that the compiler calls. Everything else works on
//! ordinary token streams, so that tests can call it:
//!
//! - `function` reads a function signature into a tool, with `parameter` for its parameters,
//!   `settings` for what stands in the attributes, `docs` for doc comments and `names` for the
//!   rules about names;
//! - `expand` writes the code, for free functions (`tool`) and for `impl` blocks (`tools`).
//!
//! What a tool *does* at run time is not here: the output calls into `odek_sdk`.
#![deny(missing_docs)]

use proc_macro::TokenStream;

mod docs;
mod errors;
mod expand;
mod function;
mod names;
mod parameter;
mod settings;
mod tool;
mod tools;

/// The documentation is at the name under which authors use it, `odek_sdk::odek_tool`.
#[proc_macro_attribute]
pub fn odek_tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::odek_tool(arguments.into(), item.into()).into()
}

/// The documentation is at the name under which authors use it, `odek_sdk::odek_tools`.
#[proc_macro_attribute]
pub fn odek_tools(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tools::odek_tools(arguments.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
