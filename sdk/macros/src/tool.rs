//! `#[odek_tool]` on a free function.
//!
//! The name of the function becomes two things: in expressions a function that makes the tool, so
//! that `.tool(summarize)` registers it; as a path the place of the author's own function, so that
//! tests can call `summarize::call(…)`. A function rather than a constant or a unit struct, since
//! those would turn every local variable of that name into a pattern that never matches.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, FnArg, ItemFn, parse2};

use crate::{
    errors::Errors,
    expand::{self, Callee},
    function::{Place, ToolFunction},
    parameter::is_lint_level,
    settings::Settings,
};

pub(crate) fn odek_tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(function) = parse2::<ItemFn>(item.clone()) else {
        let error = syn::Error::new_spanned(
            &item,
            "`#[odek_tool]` goes on a function with a body; on an `impl` block write \
             `#[odek_tools]`",
        );
        let error = error.into_compile_error();
        return quote! { #error #item };
    };
    let mut errors = Errors::default();
    let settings = errors
        .take(parse2(arguments))
        .unwrap_or(Settings(Vec::new()));
    let signature = &function.sig;
    let read = ToolFunction::read(
        &settings,
        &function.attrs,
        signature,
        Place::Free,
        &mut errors,
    );
    let (tool, errors) = match (read, errors.into_compile_errors()) {
        (Some(read), None) => {
            let ident = &read.ident;
            let callee = Callee {
                path: quote! { #ident::call },
                self_type: None,
            };
            (expand::tool(&read, &callee), None)
        }
        // The items stay, so that their users are not reported as well.
        (_, errors) => (quote! { ::core::unreachable!() }, errors),
    };
    let items = if signature.receiver().is_some() {
        TokenStream::new()
    } else {
        items(&function, &tool)
    };
    quote! { #errors #items }
}

/// The two items of the function's name.
fn items(function: &ItemFn, tool: &TokenStream) -> TokenStream {
    let ItemFn { vis, sig, .. } = function;
    let ident = &sig.ident;
    let conditions: Vec<_> = with_path(&function.attrs, "cfg").collect();
    let docs: Vec<_> = with_path(&function.attrs, "doc").collect();
    let own = own_function(function);
    let summary = format!("The function behind the tool `{ident}`, as `{ident}::call`.");
    quote! {
        #(#conditions)*
        #(#docs)*
        #[allow(clippy::all, clippy::pedantic, unused_mut)]
        #vis fn #ident() -> ::odek_sdk::Tool { #tool }

        #(#conditions)*
        #[doc = #summary]
        #[allow(non_camel_case_types)]
        #[derive(Debug)]
        #vis enum #ident {}

        #(#conditions)*
        impl #ident {
            #own
        }
    }
}

/// The author's function as it was, under the name `call`, without what is for the macro.
fn own_function(function: &ItemFn) -> TokenStream {
    let mut function = function.clone();
    function
        .attrs
        .retain(|attribute| !attribute.path().is_ident("cfg"));
    function.sig.ident = syn::Ident::new("call", function.sig.ident.span());
    strip_parameters(&mut function.sig);
    quote! { #function }
}

/// Remove the attributes of parameters that are for the macro; the compiler refuses them.
pub(crate) fn strip_parameters(signature: &mut syn::Signature) {
    for input in &mut signature.inputs {
        if let FnArg::Typed(parameter) = input {
            parameter.attrs.retain(is_lint_level);
        }
    }
}

pub(crate) fn with_path<'a>(
    attributes: &'a [Attribute],
    name: &'a str,
) -> impl Iterator<Item = &'a Attribute> {
    attributes
        .iter()
        .filter(move |attribute| attribute.path().is_ident(name))
}
