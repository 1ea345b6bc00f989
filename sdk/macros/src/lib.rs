//! The attribute macros of odek-sdk.
use proc_macro::TokenStream;

/// Marks a tool.
#[proc_macro_attribute]
pub fn odek_tool(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Marks an `impl` block with tools.
#[proc_macro_attribute]
pub fn odek_tools(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}
