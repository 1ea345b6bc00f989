//! A tool function, read from its signature.

use syn::{
    Attribute, Error, FnArg, Ident, Receiver, ReceiverKind, ReturnType, Signature, ext::IdentExt,
};

use crate::{
    docs,
    errors::Errors,
    names,
    parameter::{Parameter, naming_tokens},
    settings::{Settings, ToolSettings},
};

/// Everything about a function that the expansion needs.
pub(crate) struct ToolFunction {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) settings: ToolSettings,
    pub(crate) kind: FunctionKind,
    pub(crate) receiver: ReceiverUse,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) output: ReturnType,
}

/// How the function runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    Async,
    Blocking,
}

/// Whether the function is called on the shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverUse {
    None,
    SharedState,
}

/// Where a function stands, which decides what its receiver may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Marked by itself.
    Free,
    /// In an `impl` block that is marked as well.
    ImplBlock,
}

impl ToolFunction {
    /// Read a function. Returns none after noting at least one error.
    pub(crate) fn read(
        settings: &Settings,
        attributes: &[Attribute],
        signature: &Signature,
        place: Place,
        errors: &mut Errors,
    ) -> Option<Self> {
        let settings = ToolSettings::read(settings, errors);
        let name = read_name(&settings, &signature.ident, errors);
        let description = read_description(&settings, attributes, &signature.ident, errors);
        check_signature(signature, errors);
        let receiver = read_receiver(signature, place, errors);
        let parameters = read_parameters(signature, errors);
        Some(Self {
            ident: signature.ident.clone(),
            name: name?,
            description: description?,
            settings,
            kind: match signature.asyncness {
                Some(_) => FunctionKind::Async,
                None => FunctionKind::Blocking,
            },
            receiver: receiver?,
            parameters: parameters?,
            output: signature.output.clone(),
        })
    }
}

fn read_name(settings: &ToolSettings, ident: &Ident, errors: &mut Errors) -> Option<String> {
    let (name, problem) = match &settings.name {
        Some(literal) => {
            let name = literal.value();
            let problem = names::tool_name_problem(&name);
            (
                name,
                problem.map(|problem| Error::new(literal.span(), problem)),
            )
        }
        None => {
            let name = ident.unraw().to_string();
            let problem = names::tool_name_problem(&name);
            let with_hint = |problem| {
                Error::new(
                    ident.span(),
                    format!("{problem}; set another with `name = \"…\"`"),
                )
            };
            (name, problem.map(with_hint))
        }
    };
    match problem {
        Some(problem) => {
            errors.push(problem);
            None
        }
        None => Some(name),
    }
}

fn read_description(
    settings: &ToolSettings,
    attributes: &[Attribute],
    ident: &Ident,
    errors: &mut Errors,
) -> Option<String> {
    let description = match &settings.description {
        Some(description) => description.clone(),
        None => docs::description(attributes),
    };
    if description.is_empty() {
        errors.at(
            ident,
            "a tool needs a description, which tells the model what it does; write a doc comment \
             above the function, or set `description = \"…\"`",
        );
        return None;
    }
    Some(description)
}

fn check_signature(signature: &Signature, errors: &mut Errors) {
    if let Some(keyword) = &signature.constness {
        errors.at(
            keyword,
            "a tool function cannot be `const`; remove the keyword",
        );
    }
    if let syn::Safety::Unsafe(keyword) = &signature.safety {
        errors.at(
            keyword,
            "a tool function cannot be `unsafe`, since any model may call it; keep the unsafe \
             part in a function of its own",
        );
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a tool function cannot be `extern`; remove the ABI");
    }
    if !signature.generics.params.is_empty() {
        errors.at(
            &signature.generics,
            "a tool function cannot be generic, since its input schema needs concrete types; \
             write the types out",
        );
    } else if let Some(clause) = &signature.generics.where_clause {
        errors.at(
            clause,
            "a tool function cannot have a `where` clause; remove it",
        );
    }
    if let Some(variadic) = &signature.variadic {
        errors.at(variadic, "a tool function cannot be variadic; take a `Vec`");
    }
}

fn read_receiver(signature: &Signature, place: Place, errors: &mut Errors) -> Option<ReceiverUse> {
    let Some(receiver) = signature.receiver() else {
        return Some(ReceiverUse::None);
    };
    if place == Place::Free {
        errors.at(
            receiver,
            "`#[odek_tool]` on a method needs `#[odek_tools]` on the `impl` block around it",
        );
        return None;
    }
    match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => Some(ReceiverUse::SharedState),
        _ => {
            errors.push(unsupported_receiver(receiver));
            None
        }
    }
}

fn unsupported_receiver(receiver: &Receiver) -> Error {
    let reason = match &receiver.kind {
        ReceiverKind::Reference(..) => {
            "all calls share the state, so a tool takes `&self`; put what changes into a `Mutex` \
             or an atomic"
        }
        _ => "all calls share the state, so a tool takes `&self`",
    };
    Error::new_spanned(receiver, reason)
}

fn read_parameters(signature: &Signature, errors: &mut Errors) -> Option<Vec<Parameter>> {
    let declared: Vec<_> = signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(parameter) => Some(parameter),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let mut parameters = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut has_context = false;
    for parameter in &declared {
        let Some(read) = Parameter::read(parameter, errors) else {
            continue;
        };
        match &read {
            Parameter::Context if has_context => {
                errors.at(
                    &parameter.ty,
                    "a tool has one `ToolContext`; remove this one",
                );
            }
            Parameter::Context => has_context = true,
            Parameter::Argument(argument) if names.contains(&argument.name) => {
                let message = format!("the argument `{}` is declared twice", argument.name);
                errors.at(naming_tokens(parameter), message);
            }
            Parameter::Argument(argument) => names.push(argument.name.clone()),
            Parameter::Whole(_) | Parameter::Flattened(_) => {}
        }
        parameters.push(read);
    }
    let is_complete = parameters.len() == declared.len();
    check_whole(&parameters, &declared, errors);
    is_complete.then_some(parameters)
}

/// `Args` is everything, so there can be nothing beside it.
fn check_whole(parameters: &[Parameter], declared: &[&syn::PatType], errors: &mut Errors) {
    let others = parameters
        .iter()
        .filter(|parameter| !matches!(parameter, Parameter::Context));
    if others.count() < 2 || parameters.len() != declared.len() {
        return;
    }
    let whole = parameters.iter().zip(declared);
    for (_, declared) in whole.filter(|(read, _)| matches!(read, Parameter::Whole(_))) {
        errors.at(
            &declared.ty,
            "`Args` is the whole arguments object, so there can be no other argument; write \
             `#[odek(flatten)]` instead, which adds the fields of a struct to the others",
        );
    }
}
