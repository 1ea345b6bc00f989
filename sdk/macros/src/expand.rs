//! The code that a tool function becomes.
//!
//! Everything is named through `::odek_sdk::__private`, so that the author's imports and
//! dependencies do not matter. Each parameter's type is used through one trait only and with the
//! author's own tokens, so that a type that cannot be an argument is one error, at that type.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, ExprLit, Index, Lit, ReturnType, Type, spanned::Spanned};

use crate::{
    function::{FunctionKind, ReceiverUse, ToolFunction},
    parameter::{Argument, ArgumentDefault, Parameter},
};

/// How the expansion calls the author's function.
pub(crate) struct Callee {
    /// The path of the function, such as `summarize::call`.
    pub(crate) path: TokenStream,
    /// What `Self` means in the types of parameters, which end up outside of the `impl` block.
    pub(crate) self_type: Option<TokenStream>,
}

/// Stands for `Self` in what the author wrote for an `impl` block.
const SELF_NAME: &str = "__State";

/// The body of a block of type `Tool`. For a method, `state` must be an `Arc` of the state in scope.
pub(crate) fn tool(function: &ToolFunction, callee: &Callee) -> TokenStream {
    let arguments = arguments_struct(function, callee);
    let self_name = self_name(arguments.clone(), callee.self_type.as_ref());
    let attributes = attributes(function);
    let constructor = constructor(function, callee);
    quote! {
        #self_name
        #arguments
        #attributes
        #constructor
    }
}

/// The struct that holds the arguments of one call, and how it is described and read.
fn arguments_struct(function: &ToolFunction, callee: &Callee) -> TokenStream {
    let resolve = |tokens: &dyn ToTokens| resolve_self(tokens, callee.self_type.as_ref());
    let from_arguments: Vec<_> = function
        .parameters
        .iter()
        .filter(|parameter| !matches!(parameter, Parameter::Context))
        .map(|parameter| Field::new(parameter, &resolve))
        .collect();
    let types = from_arguments.iter().map(|field| &field.ty);
    let defaults = from_arguments
        .iter()
        .enumerate()
        .map(|(i, field)| field.default_function(i));
    let declarations = from_arguments
        .iter()
        .enumerate()
        .map(|(i, field)| field.declaration(i));
    let read = match from_arguments.as_slice() {
        [
            Field {
                ty,
                source: Source::Whole,
                ..
            },
        ] => {
            let trait_ = parameter_trait(ty);
            quote! { ::core::result::Result::Ok(Self(#trait_::read_whole(members)?)) }
        }
        fields => read_members(fields),
    };
    quote! {
        struct __Arguments(#(#types),*);
        #(#defaults)*
        impl ::odek_sdk::__private::FromArguments for __Arguments {
            fn declare(schema: &mut ::odek_sdk::__private::ArgumentsSchema<'_>) {
                let _ = &schema;
                #(#declarations)*
            }
            fn read<'de, A: ::odek_sdk::__private::MapAccess<'de>>(
                mut members: ::odek_sdk::__private::Members<'de, A>,
            ) -> ::core::result::Result<Self, A::Error> {
                #read
            }
        }
    }
}

/// One field of the arguments struct.
struct Field<'a> {
    ty: TokenStream,
    source: Source<'a>,
}

enum Source<'a> {
    Whole,
    Flattened,
    Named {
        argument: &'a Argument,
        default: Option<TokenStream>,
    },
}

impl<'a> Field<'a> {
    fn new(parameter: &'a Parameter, resolve: &dyn Fn(&dyn ToTokens) -> TokenStream) -> Self {
        match parameter {
            Parameter::Context => Self {
                ty: TokenStream::new(),
                source: Source::Whole,
            },
            Parameter::Whole(ty) => Self {
                ty: resolve(ty),
                source: Source::Whole,
            },
            Parameter::Flattened(ty) => Self {
                ty: resolve(ty),
                source: Source::Flattened,
            },
            Parameter::Argument(argument) => {
                let default = match &argument.default {
                    ArgumentDefault::Value(value) => Some(resolve(&default_value(value))),
                    ArgumentDefault::OfType => {
                        let ty = resolve(&argument.ty);
                        Some(quote_spanned! { argument.ty.span() =>
                            <#ty as ::core::default::Default>::default()
                        })
                    }
                    ArgumentDefault::None => None,
                };
                Self {
                    ty: resolve(&argument.ty),
                    source: Source::Named { argument, default },
                }
            }
        }
    }

    /// The default as a function of its own, so that `return` and `?` in it mean nothing else.
    fn default_function(&self, index: usize) -> Option<TokenStream> {
        let Source::Named {
            default: Some(value),
            ..
        } = &self.source
        else {
            return None;
        };
        let (ty, name) = (&self.ty, default_name(index));
        Some(quote! {
            fn #name() -> #ty { #value }
        })
    }

    fn declaration(&self, index: usize) -> TokenStream {
        let trait_ = parameter_trait(&self.ty);
        match &self.source {
            Source::Whole => quote! { #trait_::declare_whole(schema); },
            Source::Flattened => quote! { #trait_::declare_flattened(schema); },
            Source::Named {
                argument,
                default: None,
            } => {
                let Argument {
                    name, description, ..
                } = argument;
                quote! { #trait_::declare(schema, #name, #description); }
            }
            Source::Named {
                argument,
                default: Some(_),
            } => {
                let Argument {
                    name, description, ..
                } = argument;
                let value = default_name(index);
                quote! {
                    let default = {
                        use ::odek_sdk::__private::NoJson as _;
                        ::odek_sdk::__private::DefaultValue(#value()).to_json()
                    };
                    #trait_::declare_with_default(schema, #name, #description, default);
                }
            }
        }
    }
}

/// Read member by member, so that an error knows the argument it belongs to.
fn read_members(fields: &[Field<'_>]) -> TokenStream {
    let is_flattening = fields
        .iter()
        .any(|field| matches!(field.source, Source::Flattened));
    let other = if is_flattening {
        quote!(keep)
    } else {
        quote!(skip)
    };
    let mut slots = Vec::new();
    let mut arms = Vec::new();
    let mut values = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let trait_ = parameter_trait(&field.ty);
        let Source::Named { argument, default } = &field.source else {
            values.push(quote! { #trait_::read_flattened(&members)? });
            continue;
        };
        let (slot, name) = (format_ident!("value_{index}"), &argument.name);
        slots.push(quote! { let mut #slot = ::core::option::Option::None; });
        let missing = match default {
            None => {
                arms.push(quote! {
                    #name => #slot = ::core::option::Option::Some(#trait_::read(&mut members)?),
                });
                quote! { #trait_::missing(#name)? }
            }
            Some(_) => {
                arms.push(quote! { #name => #slot = #trait_::read_unless_null(&mut members)?, });
                let default = default_name(index);
                quote! { #default() }
            }
        };
        values.push(quote! {
            match #slot {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #missing,
            }
        });
    }
    quote! {
        #(#slots)*
        while let ::core::option::Option::Some(name) = members.next_name()? {
            match &*name {
                #(#arms)*
                _ => members.#other(name)?,
            }
        }
        ::core::result::Result::Ok(Self(#(#values),*))
    }
}

/// `<T as Parameter>`, with the span of the author's type.
fn parameter_trait(ty: &TokenStream) -> TokenStream {
    quote_spanned! { ty.span() => <#ty as ::odek_sdk::__private::Parameter> }
}

fn default_name(index: usize) -> proc_macro2::Ident {
    format_ident!("__default_{index}")
}

/// A text stands for any type that is made from text, such as `String` and `PathBuf`.
fn default_value(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            quote_spanned! { text.span() => ::odek_sdk::__private::FromText::from_text(#text) }
        }
        _ => value.to_token_stream(),
    }
}

fn attributes(function: &ToolFunction) -> TokenStream {
    let ToolFunction {
        name,
        description,
        settings,
        ..
    } = function;
    let flag = |field: &str, value: Option<bool>| {
        let field = format_ident!("{field}");
        value.map(|value| {
            quote! { attributes.annotations.#field = ::core::option::Option::Some(#value); }
        })
    };
    let flags = [
        flag("read_only", settings.read_only),
        flag("destructive", settings.destructive),
        flag("idempotent", settings.idempotent),
        flag("open_world", settings.open_world),
    ];
    let title = settings.title.as_ref().map(|title| {
        quote! {
            attributes.annotations.title =
                ::core::option::Option::Some(::odek_sdk::__private::Cow::Borrowed(#title));
        }
    });
    let timeout = settings.timeout.map(|timeout| {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        quote! {
            attributes.timeout = ::core::option::Option::Some(
                ::core::time::Duration::from_millis(#milliseconds),
            );
        }
    });
    quote! {
        let mut attributes = ::odek_sdk::ToolAttributes::new(#name, #description);
        #title
        #(#flags)*
        #timeout
    }
}

fn constructor(function: &ToolFunction, callee: &Callee) -> TokenStream {
    let has_context = function
        .parameters
        .iter()
        .any(|parameter| matches!(parameter, Parameter::Context));
    let context = if has_context {
        quote!(context)
    } else {
        quote!(_)
    };
    let call = call(function, callee);
    let span = function.ident.span();
    // The name may come from another macro, where these are unknown if they have its span.
    let attributes = quote!(attributes);
    let use_arguments = quote! { let _ = &arguments; };
    let parameters = quote! {
        ::odek_sdk::__private::Decoded(arguments):
            ::odek_sdk::__private::Decoded<__Arguments>,
        #context: ::odek_sdk::ToolContext
    };
    let (share, share_for_call) = match function.receiver {
        ReceiverUse::None => (None, None),
        ReceiverUse::SharedState => {
            let share = quote! { let state = ::odek_sdk::__private::Arc::clone(&state); };
            (Some(share.clone()), Some(share))
        }
    };
    match function.kind {
        FunctionKind::Async => {
            let converted = converted(&function.output, quote! { #call.await });
            quote_spanned! { span =>
                #share
                ::odek_sdk::Tool::from_async(#attributes, move |#parameters| {
                    #share_for_call
                    async move {
                        #use_arguments
                        #converted
                    }
                })
            }
        }
        FunctionKind::Blocking => {
            let converted = converted(&function.output, call);
            quote_spanned! { span =>
                #share
                ::odek_sdk::Tool::from_blocking(#attributes, move |#parameters| {
                    #use_arguments
                    #converted
                })
            }
        }
    }
}

fn call(function: &ToolFunction, callee: &Callee) -> TokenStream {
    let state = match function.receiver {
        ReceiverUse::None => None,
        ReceiverUse::SharedState => Some(quote! { &state, }),
    };
    let mut index = 0;
    let mut next_field = || {
        let field = Index::from(index);
        index += 1;
        quote! { arguments.#field }
    };
    let values: Vec<_> = function
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Context => quote! { context },
            Parameter::Whole(_) => {
                let field = next_field();
                quote! { ::odek_sdk::Args(#field) }
            }
            Parameter::Flattened(_) | Parameter::Argument(_) => next_field(),
        })
        .collect();
    let path = &callee.path;
    quote! { #path(#state #(#values),*) }
}

/// The conversion of what the function returned, with the span of its return type.
fn converted(output: &ReturnType, result: TokenStream) -> TokenStream {
    let trait_ = match output {
        ReturnType::Type(_, ty) if !is_opaque(ty) => {
            quote_spanned! { ty.span() => <#ty as ::odek_sdk::IntoToolResult> }
        }
        ReturnType::Type(_, ty) => quote_spanned! { ty.span() => ::odek_sdk::IntoToolResult },
        ReturnType::Default => quote! { ::odek_sdk::IntoToolResult },
    };
    quote! {
        let result = #result;
        ::odek_sdk::__private::Converted(#trait_::into_tool_result(result))
    }
}

/// Types that cannot be written in an expression.
fn is_opaque(ty: &Type) -> bool {
    ty.to_token_stream()
        .into_iter()
        .any(|token| is_ident(&token, "impl"))
}

fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

/// `Self` replaced by a name for the type it stands for. By a name rather than by the type, which
/// in an expression would have to be written in another way: `State<u8>` has the constant
/// `State::<u8>::LIMIT`.
fn resolve_self(tokens: &dyn ToTokens, self_type: Option<&TokenStream>) -> TokenStream {
    let tokens = tokens.to_token_stream();
    match self_type {
        Some(_) => replace_self(tokens),
        None => tokens,
    }
}

fn replace_self(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let inner = replace_self(group.stream());
                let mut replaced = proc_macro2::Group::new(group.delimiter(), inner);
                replaced.set_span(group.span());
                TokenTree::Group(replaced)
            }
            token if is_ident(&token, "Self") => {
                TokenTree::Ident(proc_macro2::Ident::new(SELF_NAME, token.span()))
            }
            token => token,
        })
        .collect()
}

/// The name that stands for `Self`, declared where it is used. A type with parameters of the
/// `impl` block cannot be declared there, which is none of the other types' business.
fn self_name(tokens: TokenStream, self_type: Option<&TokenStream>) -> Option<TokenStream> {
    let self_type = self_type.filter(|_| mentions(tokens, SELF_NAME))?;
    let name = format_ident!("{SELF_NAME}");
    Some(quote! { type #name = #self_type; })
}

fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions(group.stream(), name),
        token => is_ident(&token, name),
    })
}
