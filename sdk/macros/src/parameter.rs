//! One parameter of a tool function: how its type and attributes make it part of the arguments.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Error, Expr, GenericArgument, Ident, Pat, PatType, Path, PathArguments, Result,
    Type, TypeReference, ext::IdentExt,
};

use crate::{
    docs,
    errors::Errors,
    names,
    settings::{Setting, Settings, without_repetitions},
};

/// Where the value of a parameter comes from.
pub(crate) enum Parameter {
    /// `ToolContext`: from the running call, not from the arguments.
    Context,
    /// `Args<T>`: the whole arguments object, decoded as the type.
    Whole(Box<Type>),
    /// `#[odek(flatten)]`: a struct whose fields are arguments.
    Flattened(Box<Type>),
    /// One argument.
    Argument(Box<Argument>),
}

pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) ty: Type,
    pub(crate) default: ArgumentDefault,
}

/// What the parameter is when the argument is left out or null.
pub(crate) enum ArgumentDefault {
    /// `#[odek(default = …)]`.
    Value(Expr),
    /// `#[odek(default)]`.
    OfType,
    /// The argument is required, unless its type is an `Option`.
    None,
}

/// What stands in `#[odek(…)]`.
#[derive(Default)]
struct ParameterSettings {
    name: Option<(String, Expr)>,
    default: Option<(ArgumentDefault, Ident)>,
    flatten: Option<Ident>,
}

const KNOWN: [&str; 3] = ["default", "name", "flatten"];

impl Parameter {
    /// Read a parameter, together with the tokens that give it its name.
    pub(crate) fn read(parameter: &PatType, errors: &mut Errors) -> Option<Self> {
        let settings = ParameterSettings::read(&parameter.attrs, errors);
        check_attributes(&parameter.attrs, errors);
        match wrapper(&parameter.ty) {
            Some(Wrapper::Context) => {
                settings.refuse(
                    "`ToolContext` is no argument, so it takes no `#[odek(…)]`",
                    errors,
                );
                Some(Self::Context)
            }
            Some(Wrapper::Args(inner)) => {
                settings.refuse(
                    "`Args` is all arguments, so it takes no `#[odek(…)]`",
                    errors,
                );
                errors.take(inner).map(Self::Whole)
            }
            None => Self::read_argument(parameter, settings, errors),
        }
    }

    fn read_argument(
        parameter: &PatType,
        settings: ParameterSettings,
        errors: &mut Errors,
    ) -> Option<Self> {
        errors.take(check_type(&parameter.ty))?;
        if let Some(flatten) = &settings.flatten {
            settings.refuse_beside_flatten(errors);
            if is_option(&parameter.ty) {
                let message = "a flattened struct cannot be optional; make its fields `Option`s";
                errors.at(flatten, message);
            }
            return Some(Self::Flattened(parameter.ty.clone()));
        }
        let name = errors.take(settings.name_or(&parameter.pat))?;
        if let (Some((_, default)), true) = (&settings.default, is_option(&parameter.ty)) {
            errors.at(
                default,
                "an `Option` is `None` when the argument is left out; remove the default, or the \
                 `Option`",
            );
        }
        Some(Self::Argument(Box::new(Argument {
            name,
            description: docs::description(&parameter.attrs),
            ty: parameter.ty.as_ref().clone(),
            default: settings
                .default
                .map_or(ArgumentDefault::None, |(default, _)| default),
        })))
    }
}

/// The tokens that name an argument, to underline when two have the same name.
pub(crate) fn naming_tokens(parameter: &PatType) -> TokenStream {
    let settings = ParameterSettings::read(&parameter.attrs, &mut Errors::default());
    match settings.name {
        Some((_, value)) => value.into_token_stream(),
        None => parameter.pat.to_token_stream(),
    }
}

impl ParameterSettings {
    fn read(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut settings = Vec::new();
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("odek"))
        {
            if let Some(Settings(more)) = errors.take(attribute.parse_args::<Settings>()) {
                settings.extend(more);
            }
        }
        let mut read = Self::default();
        for setting in without_repetitions(&Settings(settings), errors) {
            match setting.key.to_string().as_str() {
                "default" => read.default = Some((default(setting), setting.key.clone())),
                "flatten" => {
                    if let Some(true) = errors.take(setting.flag()) {
                        read.flatten = Some(setting.key.clone());
                    }
                }
                "name" => {
                    if let Some(name) = errors.take(setting.text())
                        && let Some(value) = &setting.value
                    {
                        read.name = Some((name.value(), value.clone()));
                    }
                }
                _ => errors.push(setting.unknown(&KNOWN)),
            }
        }
        read
    }

    /// The first setting, to underline when none is allowed.
    fn refuse(&self, message: &str, errors: &mut Errors) {
        if let Some(key) = &self.flatten {
            errors.at(key, message);
        } else if let Some((_, key)) = &self.default {
            errors.at(key, message);
        } else if let Some((_, value)) = &self.name {
            errors.at(value, message);
        }
    }

    fn refuse_beside_flatten(&self, errors: &mut Errors) {
        if let Some((_, value)) = &self.name {
            errors.at(
                value,
                "a flattened struct has no name of its own; rename its fields",
            );
        }
        if let Some((_, key)) = &self.default {
            errors.at(
                key,
                "a flattened struct has no default of its own; give its fields one",
            );
        }
    }

    /// The argument's name: the setting, else the parameter's own.
    fn name_or(&self, pattern: &Pat) -> Result<String> {
        let ident = identifier(pattern)?;
        let (name, place, hint) = match &self.name {
            Some((name, value)) => (name.clone(), value.to_token_stream(), ""),
            None => (
                ident.unraw().to_string(),
                ident.to_token_stream(),
                "; name it with `#[odek(name = \"…\")]`",
            ),
        };
        match names::parameter_name_problem(&name) {
            Some(problem) => Err(Error::new_spanned(place, format!("{problem}{hint}"))),
            None => Ok(name),
        }
    }
}

fn default(setting: &Setting) -> ArgumentDefault {
    match &setting.value {
        Some(value) => ArgumentDefault::Value(value.clone()),
        None => ArgumentDefault::OfType,
    }
}

/// `x` or `mut x`; everything else has no name that a model could use.
fn identifier(pattern: &Pat) -> Result<&Ident> {
    match pattern {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(&pattern.ident)
        }
        Pat::Wild(_) => Err(Error::new_spanned(
            pattern,
            "an argument needs a name for the model; write `_name` for one that is not used",
        )),
        _ => Err(Error::new_spanned(
            pattern,
            "an argument needs a name for the model; take it as `name` and take it apart in the \
             body",
        )),
    }
}

/// Whether the compiler takes an attribute on a parameter; all others must go from the output.
pub(crate) fn is_lint_level(attribute: &Attribute) -> bool {
    let path = attribute.path();
    ["allow", "expect", "warn", "deny", "forbid"]
        .iter()
        .any(|level| path.is_ident(level))
}

/// Attributes that mean nothing on a parameter, or would do something else than they seem to.
fn check_attributes(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in attributes {
        let path = attribute.path();
        let is = |name: &str| path.is_ident(name);
        if is("odek") || is("doc") || is_lint_level(attribute) {
            continue;
        }
        let message = if is("cfg") || is("cfg_attr") {
            "a parameter cannot be conditional: the input schema would depend on the build; put \
             the condition on the function"
                .to_owned()
        } else {
            format!(
                "unknown parameter attribute `{}`; a parameter takes doc comments and \
                 `#[odek(default = …, name = \"…\", flatten)]`",
                spelled(path)
            )
        };
        errors.at(attribute, message);
    }
}

fn spelled(path: &Path) -> String {
    let segments: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    segments.join("::")
}

/// The types that are recognised by their last path segment.
enum Wrapper {
    Context,
    Args(Result<Box<Type>>),
}

fn wrapper(ty: &Type) -> Option<Wrapper> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match last.ident.to_string().as_str() {
        "ToolContext" => Some(Wrapper::Context),
        "Args" => Some(Wrapper::Args(single_type(&last.arguments).ok_or_else(
            || {
                Error::new_spanned(
                    ty,
                    "`Args` takes the type of all arguments: `Args<MyArguments>`",
                )
            },
        ))),
        _ => None,
    }
}

fn single_type(arguments: &PathArguments) -> Option<Box<Type>> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    let mut arguments = arguments.args.iter();
    match (arguments.next(), arguments.next()) {
        (Some(GenericArgument::Type(ty)), None) => Some(Box::new(ty.clone())),
        _ => None,
    }
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if last_is(path, "Option"))
}

fn last_is(path: &syn::TypePath, name: &str) -> bool {
    path.path
        .segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

/// Types that no arguments object can be decoded to, with what to write instead.
fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => {
            let message = match &*reference.elem {
                Type::Path(path) if last_is(path, "ToolContext") => {
                    "take the context by value: `ToolContext`".to_owned()
                }
                _ => format!(
                    "arguments are owned by the call, so they cannot be references; take {}",
                    owned(reference)
                ),
            };
            Err(Error::new_spanned(ty, message))
        }
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "the input schema needs a concrete type; name the type instead of `impl Trait`",
        )),
        Type::Paren(inner) => check_type(&inner.elem),
        Type::Group(inner) => check_type(&inner.elem),
        _ if borrows(ty.to_token_stream()) => Err(Error::new_spanned(
            ty,
            "arguments are owned by the call, so they cannot hold references; take owned types, \
             such as `String` for `&str`",
        )),
        _ => Ok(()),
    }
}

/// Whether a type holds a reference, or any lifetime but `'static`, somewhere inside.
fn borrows(tokens: TokenStream) -> bool {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is_static =
        |next: Option<&TokenTree>| matches!(next, Some(TokenTree::Ident(name)) if name == "static");
    tokens.iter().enumerate().any(|(index, token)| match token {
        TokenTree::Group(group) => borrows(group.stream()),
        TokenTree::Punct(punct) if punct.as_char() == '\'' => !is_static(tokens.get(index + 1)),
        TokenTree::Punct(punct) => punct.as_char() == '&',
        _ => false,
    })
}

/// The owned type for the common kinds of references.
fn owned(reference: &TypeReference) -> String {
    match &*reference.elem {
        Type::Path(path) if last_is(path, "str") => "`String`".to_owned(),
        Type::Path(path) if last_is(path, "Path") => "`PathBuf`".to_owned(),
        Type::Slice(slice) => format!("`Vec<{}>`", slice.elem.to_token_stream()),
        other => format!("`{}`", other.to_token_stream()),
    }
}
