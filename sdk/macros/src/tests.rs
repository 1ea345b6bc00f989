//! The macros as ordinary functions: what they report, and the shape of what they write. What the
//! output does is tested where it can be compiled, in `odek-sdk`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{File, ImplItem, Item, parse_str, parse2};

use crate::{tool::odek_tool, tools::odek_tools};

type Macro = fn(TokenStream, TokenStream) -> TokenStream;

/// The messages of the compile errors in the output.
fn problems(expand: Macro, settings: &str, item: &str) -> Vec<String> {
    let output = expand(parse_str(settings).unwrap(), parse_str(item).unwrap());
    let file: File = parse2(output).unwrap();
    let messages = file.items.into_iter().filter_map(|item| match item {
        Item::Macro(call)
            if call
                .mac
                .path
                .to_token_stream()
                .to_string()
                .contains("compile") =>
        {
            parse2::<syn::LitStr>(call.mac.tokens)
                .ok()
                .map(|message| message.value())
        }
        _ => None,
    });
    messages.collect()
}

fn tool_problems(item: &str) -> Vec<String> {
    problems(odek_tool, "", &format!("/// Described.\n{item}"))
}

fn method_problems(method: &str) -> Vec<String> {
    let block = format!("impl State {{ /// Described.\n #[odek_tool] {method} }}");
    problems(odek_tools, "", &block)
}

fn expanded(expand: Macro, item: &str) -> File {
    parse2(expand(TokenStream::new(), parse_str(item).unwrap())).unwrap()
}

#[test]
fn a_function_becomes_a_maker_and_a_place_for_itself() {
    let file = expanded(
        odek_tool,
        "/// Described.\n#[inline] pub(crate) async fn f(/** A. */ #[odek(default)] a: u8) {}",
    );
    let [Item::Fn(maker), Item::Enum(place), Item::Impl(own)] = file.items.as_slice() else {
        panic!("{}", prettyplease::unparse(&file));
    };
    assert_eq!(maker.vis.to_token_stream().to_string(), "pub (crate)");
    assert!(maker.sig.inputs.is_empty());
    assert_eq!(place.ident, "f");
    let [ImplItem::Fn(function)] = own.items.as_slice() else {
        panic!("not one function")
    };
    assert_eq!(function.sig.ident, "call");
    assert!(function.sig.asyncness.is_some());
    assert!(
        function
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("inline"))
    );
    assert_eq!(function.sig.inputs.to_token_stream().to_string(), "a : u8");
}

#[test]
fn an_impl_block_keeps_its_methods() {
    let file = expanded(
        odek_tools,
        "impl State { /// Described.\n #[odek_tool] fn a(&self, /** B. */ b: u8) {} fn c() {} }",
    );
    let [Item::Impl(block), Item::Impl(set)] = file.items.as_slice() else {
        panic!("{}", prettyplease::unparse(&file));
    };
    assert_eq!(block.items.len(), 2);
    let [ImplItem::Fn(first), _] = block.items.as_slice() else {
        panic!("no method")
    };
    assert_eq!(
        first.sig.inputs.to_token_stream().to_string(),
        "& self , b : u8"
    );
    assert_eq!(first.attrs.len(), 1);
    let (path, _) = set.trait_.as_ref().unwrap();
    assert_eq!(path.to_token_stream().to_string(), ":: odek_sdk :: ToolSet");
}

#[test]
fn conditions_apply_to_everything_that_is_written() {
    let file = expanded(odek_tool, "/// Described.\n#[cfg(unix)] fn f() {}");
    for item in &file.items {
        let (Item::Fn(syn::ItemFn { attrs, .. })
        | Item::Enum(syn::ItemEnum { attrs, .. })
        | Item::Impl(syn::ItemImpl { attrs, .. })) = item
        else {
            panic!("{}", prettyplease::unparse(&file));
        };
        let conditions = attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"));
        assert_eq!(conditions.count(), 1);
    }
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let problems = problems(
        odek_tool,
        "tiemout = \"1s\", idempotent = 2",
        "const unsafe extern \"C\" fn a__b<T>(x: &str, (a, b): (u8, u8), _: u8, y: impl Copy) {}",
    );
    let starts = [
        "unknown setting `tiemout`; did you mean `timeout`?",
        "`idempotent` stands alone",
        "tool name \"a__b\" cannot contain \"__\"",
        "a tool needs a description",
        "a tool function cannot be `const`",
        "a tool function cannot be `unsafe`",
        "a tool function cannot be `extern`",
        "a tool function cannot be generic",
        "arguments are owned by the call, so they cannot be references; take `String`",
        "an argument needs a name for the model; take it as `name`",
        "an argument needs a name for the model; write `_name`",
        "the input schema needs a concrete type",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}\n{start}");
    }
}

#[test]
fn references_say_what_to_take_instead() {
    let advice = |ty: &str| {
        let problems = tool_problems(&format!("fn f(x: {ty}) {{}}"));
        problems
            .concat()
            .split("; ")
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(advice("&str"), "take `String`");
    assert_eq!(advice("&std::path::Path"), "take `PathBuf`");
    assert_eq!(advice("&[u8]"), "take `Vec<u8>`");
    assert_eq!(advice("&'static mut Thing"), "take `Thing`");
    assert_eq!(
        tool_problems("fn f(x: &ToolContext) {}"),
        ["take the context by value: `ToolContext`"]
    );
}

#[test]
fn references_inside_of_types_are_found() {
    for ty in [
        "Vec<&str>",
        "Option<&'static str>",
        "Cow<'_, str>",
        "(u8, [&u8; 2])",
    ] {
        let problems = tool_problems(&format!("fn f(x: {ty}) {{}}"));
        assert!(
            problems.concat().contains("so they cannot hold references"),
            "{ty}: {problems:?}"
        );
    }
    for ty in ["Cow<'static, str>", "Vec<[u8; 2]>"] {
        assert_eq!(tool_problems(&format!("fn f(x: {ty}) {{}}")), [""; 0]);
    }
}

#[test]
fn names_of_arguments_are_checked_and_unique() {
    let twice = "the argument `x` is declared twice";
    assert_eq!(tool_problems("fn f(x: u8, x: u8) {}"), [twice]);
    assert_eq!(
        tool_problems("fn f(x: u8, #[odek(name = \"x\")] y: u8) {}"),
        [twice]
    );
    assert_eq!(tool_problems("fn f(r#x: u8, x: u8) {}"), [twice]);
    let problems = tool_problems("fn f(größe: u8, #[odek(name = \"a b\")] y: u8) {}");
    assert!(problems[0].starts_with("the host would remove the argument \"größe\""));
    assert!(problems[0].ends_with("name it with `#[odek(name = \"…\")]`"));
    assert!(problems[1].starts_with("the host would remove the argument \"a b\""));
    assert_eq!(problems.len(), 2);
}

#[test]
fn parameter_attributes_are_checked() {
    let problem = |parameter: &str| tool_problems(&format!("fn f({parameter}) {{}}")).concat();
    assert_eq!(
        problem("#[odek(defualt)] x: u8"),
        "unknown setting `defualt`; did you mean `default`?"
    );
    assert_eq!(
        problem("#[odek(range)] x: u8"),
        "unknown setting `range`; there are `default`, `name`, `flatten`"
    );
    assert!(problem("#[serde(default)] x: u8").starts_with("unknown parameter attribute `serde`"));
    assert!(problem("#[cfg(unix)] x: u8").starts_with("a parameter cannot be conditional"));
    assert!(problem("#[odek(default = 3)] x: Option<u8>").starts_with("an `Option` is `None`"));
    assert!(problem("#[odek(default)] x: Option<u8>").starts_with("an `Option` is `None`"));
    assert!(
        problem("#[odek(flatten)] x: Option<Page>").starts_with("a flattened struct cannot be")
    );
    assert!(problem("#[odek(flatten, name = \"y\")] x: Page").contains("has no name of its own"));
    assert!(problem("#[odek(flatten, default)] x: Page").contains("has no default of its own"));
    assert!(problem("#[odek(name = \"y\")] cx: ToolContext").contains("is no argument"));
    assert!(problem("#[odek(flatten)] x: Args<Page>").contains("`Args` is all arguments"));
    assert_eq!(
        problem("#[allow(unused)] x: u8, #[odek(flatten = false)] y: u8"),
        ""
    );
    assert_eq!(
        problem("#[odek(default, default)] x: u8"),
        "`default` is given twice"
    );
}

#[test]
fn args_and_context_have_their_rules() {
    assert_eq!(
        tool_problems("fn f(a: ToolContext, b: odek_sdk::ToolContext) {}"),
        ["a tool has one `ToolContext`; remove this one"]
    );
    assert_eq!(
        tool_problems("fn f(_: ToolContext, Args(x): Args<Page>) {}"),
        [""; 0]
    );
    for parameters in [
        "x: Args<Page>, y: u8",
        "x: Args<Page>, #[odek(flatten)] y: Page",
    ] {
        let problems = tool_problems(&format!("fn f({parameters}) {{}}"));
        assert!(
            problems
                .concat()
                .starts_with("`Args` is the whole arguments object")
        );
    }
    for ty in ["Args", "Args<A, B>", "Args<3>"] {
        let problems = tool_problems(&format!("fn f(x: {ty}) {{}}"));
        assert!(
            problems.concat().starts_with("`Args` takes the type"),
            "{ty}: {problems:?}"
        );
    }
}

#[test]
fn receivers_are_checked() {
    assert_eq!(
        tool_problems("fn f(&self) {}"),
        ["`#[odek_tool]` on a method needs `#[odek_tools]` on the `impl` block around it"]
    );
    assert_eq!(method_problems("fn f(&self) {}"), [""; 0]);
    assert_eq!(method_problems("fn f() {}"), [""; 0]);
    for receiver in ["&mut self", "self", "mut self", "self: Arc<Self>"] {
        let problems = method_problems(&format!("fn f({receiver}) {{}}"));
        assert_eq!(problems.len(), 1, "{receiver}");
        assert!(problems[0].starts_with("all calls share the state, so a tool takes `&self`"));
    }
}

#[test]
fn impl_blocks_are_checked() {
    let in_block = |block: &str| problems(odek_tools, "", block).concat();
    assert!(in_block("impl State { fn f(&self) {} }").starts_with("there is no tool in this"));
    assert!(in_block("impl Trait for State { }").starts_with("tools are methods of the type"));
    assert_eq!(
        in_block(
            "impl State { /// A.\n #[odek_tool] fn a() {} \
             /// B.\n #[odek_tool(name = \"a\")] fn b() {} }"
        ),
        "the tool `a` is declared twice"
    );
    assert_eq!(
        in_block("impl State { /// A.\n #[odek_tool] #[odek_tool] fn a() {} }"),
        "`#[odek_tool]` is given twice"
    );
    assert!(
        problems(
            odek_tools,
            "x",
            "impl State { /// A.\n #[odek_tool] fn a() {} }"
        )
        .concat()
        .starts_with("`#[odek_tools]` takes no settings")
    );
}

#[test]
fn other_items_are_refused() {
    let problem = problems(odek_tool, "", "struct S;").concat();
    assert!(problem.starts_with("`#[odek_tool]` goes on a function"));
    let problem = problems(odek_tools, "", "fn f() {}").concat();
    assert!(problem.starts_with("`#[odek_tools]` goes on an `impl` block"));
}
