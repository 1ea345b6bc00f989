//! `#[odek_tools]` on an `impl` block: its methods marked `#[odek_tool]` share one state.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, ImplItem, ImplItemFn, ItemImpl, Meta,
    parse::{Parse, Parser},
    parse2,
};

use crate::{
    errors::Errors,
    expand::{self, Callee},
    function::{Place, ToolFunction},
    settings::Settings,
    tool::{strip_parameters, with_path},
};

pub(crate) fn odek_tools(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(mut block) = parse2::<ItemImpl>(item.clone()) else {
        let error = syn::Error::new_spanned(
            &item,
            "`#[odek_tools]` goes on an `impl` block; on a function write `#[odek_tool]`",
        );
        let error = error.into_compile_error();
        return quote! { #error #item };
    };
    let mut errors = Errors::default();
    if !arguments.is_empty() {
        errors.at(
            &arguments,
            "`#[odek_tools]` takes no settings; they go on `#[odek_tool]`",
        );
    }
    if let Some((_, path_end)) = &block.trait_ {
        errors.at(
            path_end,
            "tools are methods of the type itself; write `impl Type` without a trait",
        );
        let errors = errors.into_compile_errors();
        return quote! { #errors #block };
    }
    let tools = read_tools(&mut block, &mut errors);
    let set = tool_set(&block, &tools);
    let errors = errors.into_compile_errors();
    quote! { #block #errors #set }
}

/// One tool of the block, with the conditions under which it exists.
struct Method {
    conditions: Vec<Attribute>,
    function: ToolFunction,
}

/// Read the marked methods and take the marks off.
fn read_tools(block: &mut ItemImpl, errors: &mut Errors) -> Vec<Method> {
    let mut tools: Vec<Method> = Vec::new();
    let mut is_marked = false;
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(settings) = take_mark(method, errors) else {
            continue;
        };
        is_marked = true;
        let (attributes, signature) = (&method.attrs, &method.sig);
        let read = ToolFunction::read(&settings, attributes, signature, Place::ImplBlock, errors);
        strip_parameters(&mut method.sig);
        let Some(function) = read else { continue };
        if tools
            .iter()
            .any(|known| known.function.name == function.name)
        {
            let message = format!("the tool `{}` is declared twice", function.name);
            match &function.settings.name {
                Some(name) => errors.at(name, message),
                None => errors.at(&function.ident, message),
            }
        }
        let conditions = with_path(&method.attrs, "cfg").cloned().collect();
        tools.push(Method {
            conditions,
            function,
        });
    }
    if !is_marked {
        errors.at(
            &block.self_ty,
            "there is no tool in this `impl` block; mark its methods with `#[odek_tool]`",
        );
    }
    tools
}

/// Take `#[odek_tool(…)]` off a method; its settings, if it was there.
fn take_mark(method: &mut ImplItemFn, errors: &mut Errors) -> Option<Settings> {
    let is_mark = |attribute: &Attribute| {
        attribute
            .path()
            .segments
            .last()
            .is_some_and(|segment| segment.ident == "odek_tool")
    };
    let position = method.attrs.iter().position(is_mark)?;
    let mark = method.attrs.remove(position);
    if let Some(second) = method.attrs.iter().find(|attribute| is_mark(attribute)) {
        errors.at(second, "`#[odek_tool]` is given twice");
    }
    method.attrs.retain(|attribute| !is_mark(attribute));
    let settings = match &mark.meta {
        Meta::Path(_) => Ok(Settings(Vec::new())),
        Meta::List(list) => Settings::parse.parse2(list.tokens.clone()),
        Meta::NameValue(_) => mark.parse_args(),
    };
    Some(errors.take(settings).unwrap_or(Settings(Vec::new())))
}

fn tool_set(block: &ItemImpl, tools: &[Method]) -> TokenStream {
    let self_type = &block.self_ty;
    let (generics, _, where_clause) = block.generics.split_for_impl();
    let conditions = with_path(&block.attrs, "cfg");
    let pushes = tools.iter().map(
        |Method {
             conditions,
             function,
         }| {
            let ident = &function.ident;
            let callee = Callee {
                path: quote! { Self::#ident },
                self_type: Some(self_type.to_token_stream()),
            };
            let tool = expand::tool(function, &callee);
            quote! {
                #(#conditions)*
                tools.push({ #tool });
            }
        },
    );
    quote! {
        #(#conditions)*
        #[allow(clippy::all, clippy::pedantic, unused_mut)]
        impl #generics ::odek_sdk::ToolSet for #self_type #where_clause {
            fn into_tools(self) -> ::std::vec::Vec<::odek_sdk::Tool> {
                let state = ::odek_sdk::__private::Arc::new(self);
                let _ = &state;
                let mut tools = ::std::vec::Vec::new();
                #(#pushes)*
                tools
            }
        }
    }
}
