//! A tolerant pull scanner for XML, over decoded text, in bounded memory.
//!
//! Reports are damaged in ways that a conforming parser must refuse: control characters, forbidden
//! references, text before the declaration, two documents in a row, an end in the middle. And a
//! conforming parser holds a whole text section at once, which may be all of a large file. This
//! scanner goes on after damage, counts it in [`Damage`], and hands text out in pieces.
//!
//! It knows nothing of reports but the names of the elements that begin one.

use std::collections::VecDeque;

use crate::text::{Text, push_within};

/// Bytes kept of one attribute value.
const VALUE_LIMIT: usize = 64 * 1024;
/// Bytes kept of a name.
const NAME_LIMIT: usize = 256;
/// Attributes kept of one element.
const ATTRIBUTE_LIMIT: usize = 256;
/// Bytes kept of a comment or declaration.
const COMMENT_LIMIT: usize = 1024;
/// Elements within each other; deeper ones are passed over.
const DEPTH_LIMIT: usize = 512;
/// The largest number that is taken for a count.
const COUNT_LIMIT: u64 = 1_000_000_000;
/// Bytes that the longest reference takes.
const REFERENCE_LIMIT: usize = 12;

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// The name without a namespace prefix.
    pub(crate) name: String,
    /// Names and values in the order of the file.
    pub(crate) attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value of an attribute; empty when there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// The value of an attribute that is a count.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(count)
    }

    /// Whether the attributes are exactly these, in this order. Producers write theirs in an order
    /// of their own, which tells them apart.
    pub(crate) fn has_order(&self, names: &[&str]) -> bool {
        self.attributes
            .iter()
            .map(|(key, _)| key.as_str())
            .eq(names.iter().copied())
    }
}

/// Reads a count. A number that no report can hold is none, so that sums cannot overflow.
pub(crate) fn count(text: &str) -> Option<u64> {
    text.trim()
        .parse()
        .ok()
        .filter(|count| *count <= COUNT_LIMIT)
}

/// What the scanner finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// An element begins.
    Start(Element),
    /// An element ends; also when its end tag is missing.
    End(String),
    /// A piece of text, references resolved.
    Text(String),
    /// A comment, cut at a limit.
    Comment(String),
    /// The document breaks off here.
    Cut,
    /// The document is no report: its outermost element has this name.
    Foreign(String),
}

/// What was wrong with the markup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Raw characters that XML forbids.
    pub(crate) control_characters: u64,
    /// References to characters that XML forbids.
    pub(crate) forbidden_references: u64,
    /// `&` or `<` that begins nothing.
    pub(crate) unescaped: u64,
    /// `]]>` in text.
    pub(crate) section_ends: u64,
    /// Attribute values with quotation marks in them.
    pub(crate) quotes: u64,
    /// Elements whose end tag is missing.
    pub(crate) unclosed: u64,
    /// End tags of elements that are not open.
    pub(crate) unopened: u64,
    /// Elements too deep within others.
    pub(crate) too_deep: u64,
    /// Whether there is text before, between or after the documents.
    pub(crate) text_outside: bool,
    /// Where the text, or a document before another one, breaks off.
    pub(crate) cut: Option<String>,
}

/// Where the scanner stopped in the middle of something.
struct Broken(&'static str);

/// Reads tokens from text.
pub(crate) struct Scanner<'t, 'a> {
    text: &'t mut Text<'a>,
    is_root: fn(&str) -> bool,
    open: Vec<String>,
    ignored: usize,
    pending: VecDeque<Token>,
    damage: Damage,
    /// The encoding that the first declaration names.
    declared: Option<String>,
    /// Whether a document or other text came already.
    begun: bool,
    in_section: bool,
    over: bool,
}

impl<'t, 'a> Scanner<'t, 'a> {
    /// Scans `text` for documents whose outermost element satisfies `is_root`.
    pub(crate) fn new(text: &'t mut Text<'a>, is_root: fn(&str) -> bool) -> Self {
        Self {
            text,
            is_root,
            open: Vec::new(),
            ignored: 0,
            pending: VecDeque::new(),
            damage: Damage::default(),
            declared: None,
            begun: false,
            in_section: false,
            over: false,
        }
    }

    /// What was wrong so far.
    pub(crate) fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The encoding that the first declaration names.
    pub(crate) fn declared_encoding(&self) -> Option<&str> {
        self.declared.as_deref()
    }

    /// The next token; `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Option<Token> {
        while self.pending.is_empty() && !self.over {
            if let Err(Broken(place)) = self.advance() {
                self.break_off(place);
                self.over = true;
            }
        }
        self.pending.pop_front()
    }

    fn advance(&mut self) -> Result<(), Broken> {
        if self.in_section {
            return self.section();
        }
        match self.text.chunk().chars().next() {
            None if self.open.is_empty() => {
                self.over = true;
                Ok(())
            }
            None => Err(Broken("")),
            Some('<') => self.markup(),
            Some(_) if self.open.is_empty() => {
                self.outside();
                Ok(())
            }
            Some('&') => {
                let mut value = String::new();
                self.reference(&mut value, NAME_LIMIT);
                self.pending.push_back(Token::Text(value));
                Ok(())
            }
            Some(_) => {
                self.plain_text();
                Ok(())
            }
        }
    }

    /// Says that the document ends in the middle, and forgets what is open.
    fn break_off(&mut self, place: &str) {
        let inside = self.open.last().map(|name| format!("inside <{name}>"));
        let place = match (place, inside) {
            ("", inside) => inside.unwrap_or_default(),
            (place, Some(inside)) => format!("{inside}, {place}"),
            (place, None) => place.to_owned(),
        };
        self.damage.cut.get_or_insert(place);
        self.open.clear();
        self.ignored = 0;
        self.in_section = false;
        self.pending.push_back(Token::Cut);
    }

    fn outside(&mut self) {
        let chunk = self.text.chunk();
        let end = chunk.find('<').unwrap_or(chunk.len());
        let blank = |c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0';
        if !chunk[..end].chars().all(blank) {
            self.damage.text_outside = true;
            self.begun = true;
        }
        self.text.consume(end);
    }

    fn plain_text(&mut self) {
        let chunk = self.text.chunk();
        let end = chunk.find(['<', '&']).unwrap_or(chunk.len());
        let piece = chunk[..end].to_owned();
        self.text.consume(end);
        self.damage.section_ends += piece.matches("]]>").count() as u64;
        self.push_text(piece);
    }

    fn push_text(&mut self, piece: String) {
        self.damage.control_characters += piece.chars().filter(|c| !is_allowed(*c)).count() as u64;
        self.pending.push_back(Token::Text(piece));
    }

    fn markup(&mut self) -> Result<(), Broken> {
        let head = self.text.peek(NAME_LIMIT);
        if head.starts_with("<!--") {
            self.text.consume(4);
            let comment = self.until("-->", "in a comment")?;
            self.pending.push_back(Token::Comment(comment));
            return Ok(());
        }
        if head.starts_with("<![CDATA[") && !self.open.is_empty() {
            self.text.consume(9);
            self.in_section = true;
            return Ok(());
        }
        if head.starts_with("<!DOCTYPE") {
            return self.document_type();
        }
        if head.starts_with("<?") {
            return self.instruction();
        }
        let ends = head.starts_with("</");
        let name = tag_name(&head[if ends { 2 } else { 1 }..]).to_owned();
        match (name.is_empty(), ends) {
            (true, _) => self.stray(),
            (false, true) => return self.end_tag(),
            (false, false) if self.open.is_empty() && !(self.is_root)(&name) => {
                if self.begun {
                    self.stray();
                } else {
                    self.over = true;
                    self.pending.push_back(Token::Foreign(name));
                }
            }
            (false, false) => return self.start_tag(name),
        }
        Ok(())
    }

    /// A `<` that begins nothing is text.
    fn stray(&mut self) {
        self.text.consume(1);
        if self.open.is_empty() {
            self.damage.text_outside = true;
            self.begun = true;
        } else {
            self.damage.unescaped += 1;
            self.pending.push_back(Token::Text("<".into()));
        }
    }

    /// Everything up to `end`, which is consumed; kept up to a limit.
    fn until(&mut self, end: &str, place: &'static str) -> Result<String, Broken> {
        let mut kept = String::new();
        loop {
            let chunk = self.text.peek(end.len());
            if chunk.len() < end.len() {
                return Err(Broken(place));
            }
            if let Some(at) = chunk.find(end) {
                push_within(&mut kept, &chunk[..at], COMMENT_LIMIT);
                self.text.consume(at + end.len());
                return Ok(kept);
            }
            let taken = boundary_before(chunk, chunk.len() - (end.len() - 1));
            push_within(&mut kept, &chunk[..taken], COMMENT_LIMIT);
            self.text.consume(taken);
        }
    }

    /// The next piece of a CDATA section.
    fn section(&mut self) -> Result<(), Broken> {
        let chunk = self.text.peek(3);
        if chunk.len() < 3 {
            return Err(Broken("in a CDATA section"));
        }
        let (taken, skipped) = match chunk.find("]]>") {
            Some(at) => (at, 3),
            None => (boundary_before(chunk, chunk.len() - 2), 0),
        };
        let piece = chunk[..taken].to_owned();
        self.text.consume(taken + skipped);
        self.in_section = skipped == 0;
        self.push_text(piece);
        Ok(())
    }

    fn document_type(&mut self) -> Result<(), Broken> {
        let mut depth = 0usize;
        loop {
            match self.bump().ok_or(Broken("in a document type"))? {
                '[' | '<' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                '>' if depth <= 1 => return Ok(()),
                '>' => depth -= 1,
                _ => {}
            }
        }
    }

    fn instruction(&mut self) -> Result<(), Broken> {
        let declares = self.begins_declaration();
        if declares && !self.open.is_empty() {
            self.break_off("");
            return Ok(());
        }
        self.text.consume(2);
        let instruction = self.until("?>", "in a declaration")?;
        if declares && self.declared.is_none() {
            self.declared = pseudo_attribute(&instruction, "encoding");
        }
        Ok(())
    }

    fn begins_declaration(&mut self) -> bool {
        self.text
            .peek(6)
            .strip_prefix("<?xml")
            .is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }

    fn end_tag(&mut self) -> Result<(), Broken> {
        self.text.consume(2);
        let raw = self.until(">", "in an end tag")?;
        let name = local_name(tag_name(&raw));
        if self.ignored > 0 {
            self.ignored -= 1;
            return Ok(());
        }
        let Some(at) = self.open.iter().rposition(|open| open == name) else {
            if self.open.is_empty() {
                self.damage.text_outside = true;
            } else {
                self.damage.unopened += 1;
            }
            return Ok(());
        };
        self.damage.unclosed += (self.open.len() - at - 1) as u64;
        while self.open.len() > at {
            self.pending.extend(self.open.pop().map(Token::End));
        }
        Ok(())
    }

    fn start_tag(&mut self, name: String) -> Result<(), Broken> {
        self.begun = true;
        self.text.consume(1 + name.len());
        let mut element = Element {
            name: local_name(&name).to_owned(),
            attributes: Vec::new(),
        };
        let empty = loop {
            match self.look().ok_or(Broken("in a start tag"))? {
                '>' => {
                    self.text.consume(1);
                    break false;
                }
                '/' => {
                    self.text.consume(1);
                    if self.look() == Some('>') {
                        self.text.consume(1);
                        break true;
                    }
                }
                // The tag itself breaks off, and another document or element begins.
                '<' => {
                    self.damage.unescaped += 1;
                    break false;
                }
                c if c.is_whitespace() => {
                    self.text.consume(c.len_utf8());
                }
                _ => {
                    let Some(attribute) = self.attribute()? else {
                        return Ok(());
                    };
                    if element.attributes.len() < ATTRIBUTE_LIMIT {
                        element.attributes.push(attribute);
                    }
                }
            }
        };
        self.open_element(element, empty);
        Ok(())
    }

    fn open_element(&mut self, element: Element, empty: bool) {
        if self.open.len() >= DEPTH_LIMIT {
            self.damage.too_deep += 1;
            self.ignored += usize::from(!empty);
            return;
        }
        let name = element.name.clone();
        self.pending.push_back(Token::Start(element));
        if empty {
            self.pending.push_back(Token::End(name));
        } else {
            self.open.push(name);
        }
    }

    /// One attribute; `None` when another document begins within it.
    fn attribute(&mut self) -> Result<Option<(String, String)>, Broken> {
        const PLACE: Broken = Broken("in a start tag");
        let mut name = String::new();
        loop {
            match self.look().ok_or(PLACE)? {
                '=' | '>' | '/' | '<' => break,
                c if c.is_whitespace() => break,
                c => {
                    push_within(&mut name, c.encode_utf8(&mut [0; 4]), NAME_LIMIT);
                    self.text.consume(c.len_utf8());
                }
            }
        }
        self.skip_blank();
        if self.look().ok_or(PLACE)? != '=' {
            if name.is_empty() {
                self.bump();
            }
            self.damage.quotes += 1;
            return Ok(Some((name, String::new())));
        }
        self.text.consume(1);
        self.skip_blank();
        let value = match self.look().ok_or(PLACE)? {
            quote @ ('"' | '\'') => {
                self.text.consume(1);
                match self.quoted(quote)? {
                    Some(value) => value,
                    None => return Ok(None),
                }
            }
            _ => self.unquoted()?,
        };
        self.damage.control_characters += value.chars().filter(|c| !is_allowed(*c)).count() as u64;
        Ok(Some((name, value)))
    }

    fn unquoted(&mut self) -> Result<String, Broken> {
        self.damage.quotes += 1;
        let mut value = String::new();
        loop {
            match self.look().ok_or(Broken("in an attribute value"))? {
                '>' | '<' => return Ok(value),
                c if c.is_whitespace() => return Ok(value),
                c => {
                    push_within(&mut value, c.encode_utf8(&mut [0; 4]), VALUE_LIMIT);
                    self.text.consume(c.len_utf8());
                }
            }
        }
    }

    /// The rest of a quoted value; `None` when another document begins within it.
    fn quoted(&mut self, quote: char) -> Result<Option<String>, Broken> {
        let mut value = String::new();
        loop {
            let chunk = self.text.chunk();
            if chunk.is_empty() {
                return Err(Broken("in an attribute value"));
            }
            let end = chunk.find([quote, '&', '<']).unwrap_or(chunk.len());
            push_within(&mut value, &chunk[..end], VALUE_LIMIT);
            let next = chunk[end..].chars().next();
            self.text.consume(end);
            match next {
                Some('&') => self.reference(&mut value, VALUE_LIMIT),
                Some('<') if self.begins_declaration() => {
                    self.break_off("in an attribute value");
                    return Ok(None);
                }
                Some('<') => {
                    self.damage.unescaped += 1;
                    push_within(&mut value, "<", VALUE_LIMIT);
                    self.text.consume(1);
                }
                Some(_) => {
                    self.text.consume(1);
                    if self.value_ends() {
                        return Ok(Some(value));
                    }
                    self.damage.quotes += 1;
                    push_within(&mut value, quote.encode_utf8(&mut [0; 4]), VALUE_LIMIT);
                }
                None => {}
            }
        }
    }

    /// Whether a quotation mark that was just consumed ends its value: what follows ends the tag or
    /// begins another attribute.
    fn value_ends(&mut self) -> bool {
        let head = self.text.peek(64);
        let Some(next) = head.chars().next() else {
            return true;
        };
        if next.is_whitespace() || matches!(next, '/' | '>' | '?') {
            return true;
        }
        let name = tag_name(head);
        !name.is_empty()
            && head[name.len()..].starts_with(['='])
            && head[name.len() + 1..].starts_with(['"', '\''])
    }

    /// Resolves the reference that begins here; an `&` that begins none is itself.
    fn reference(&mut self, value: &mut String, limit: usize) {
        let head = self.text.peek(REFERENCE_LIMIT);
        let named = head
            .get(1..)
            .and_then(|rest| rest.split_once(';'))
            .map(|(name, _)| name);
        let named = named.filter(|name| name.len() <= REFERENCE_LIMIT - 2);
        let resolved =
            named.and_then(|name| resolve(name).map(|resolved| (resolved, name.len() + 2)));
        match resolved {
            Some((resolved, length)) => {
                self.text.consume(length);
                let character = resolved.unwrap_or(char::REPLACEMENT_CHARACTER);
                if resolved.is_none_or(|c| !is_allowed(c)) {
                    self.damage.forbidden_references += 1;
                }
                push_within(value, character.encode_utf8(&mut [0; 4]), limit);
            }
            None => {
                self.text.consume(1);
                self.damage.unescaped += 1;
                push_within(value, "&", limit);
            }
        }
    }

    fn look(&mut self) -> Option<char> {
        self.text.chunk().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.look()?;
        self.text.consume(next.len_utf8());
        Some(next)
    }

    fn skip_blank(&mut self) {
        while let Some(c) = self.look().filter(|c| c.is_whitespace()) {
            self.text.consume(c.len_utf8());
        }
    }
}

/// The character that a reference stands for: `None` when it is no reference, `Some(None)` when
/// there is no such character.
fn resolve(name: &str) -> Option<Option<char>> {
    let code = match name {
        "lt" => return Some(Some('<')),
        "gt" => return Some(Some('>')),
        "amp" => return Some(Some('&')),
        "quot" => return Some(Some('"')),
        "apos" => return Some(Some('\'')),
        _ => name.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(code) => u32::from_str_radix(code, 16),
        None => code.parse(),
    };
    Some(char::from_u32(code.ok()?).filter(|c| *c != '\0'))
}

/// Whether XML 1.0 allows a character.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// The name at the beginning of `text`; empty when there is none.
fn tag_name(text: &str) -> &str {
    let starts = |c: char| c.is_alphabetic() || c == '_' || c == ':';
    if !text.starts_with(starts) {
        return "";
    }
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.');
    let end = text.find(|c| !goes_on(c)).unwrap_or(text.len());
    &text[..end]
}

fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The largest character boundary of `text` at or before `at`, but after its first character.
fn boundary_before(text: &str, at: usize) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
        .max(first)
}

/// The value of `name="..."` in a declaration.
fn pseudo_attribute(declaration: &str, name: &str) -> Option<String> {
    let (_, rest) = declaration.split_once(name)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, _) = rest[1..].split_once(quote)?;
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(xml: &str) -> (Vec<Token>, Damage) {
        let mut reader = std::io::BufReader::with_capacity(1, xml.as_bytes());
        let mut text = Text::new(&mut reader);
        let mut scanner = Scanner::new(&mut text, |name| name == "r");
        let mut tokens: Vec<Token> = Vec::new();
        while let Some(token) = scanner.next() {
            match (tokens.last_mut(), token) {
                (Some(Token::Text(before)), Token::Text(after)) => before.push_str(&after),
                (_, Token::Text(text)) if text.is_empty() => {}
                (_, token) => tokens.push(token),
            }
        }
        (tokens, scanner.damage().clone())
    }

    fn start(name: &str, attributes: &[(&str, &str)]) -> Token {
        Token::Start(Element {
            name: name.into(),
            attributes: attributes
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
        })
    }

    fn end(name: &str) -> Token {
        Token::End(name.into())
    }

    fn text(text: &str) -> Token {
        Token::Text(text.into())
    }

    #[test]
    fn well_formed() {
        let (tokens, damage) = scan(
            "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY a 'b'>]>\n<r a='&lt;1>' b = \"x\"><x:c/>a&#x41;<![CDATA[<&]]]]><![CDATA[>]]><!-- n --></r>\n",
        );
        assert_eq!(
            tokens,
            [
                start("r", &[("a", "<1>"), ("b", "x")]),
                start("c", &[]),
                end("c"),
                text("aA<&]]>"),
                Token::Comment(" n ".into()),
                end("r")
            ]
        );
        assert_eq!(damage, Damage::default());
    }

    #[test]
    fn text_around_documents() {
        let (tokens, damage) =
            scan("log <b>line\n<?xml version=\"1.0\"?><r/>between<r/>after </r>");
        assert_eq!(
            tokens,
            [start("r", &[]), end("r"), start("r", &[]), end("r")]
        );
        assert!(damage.text_outside);
    }

    #[test]
    fn other_documents_are_foreign() {
        assert_eq!(
            scan("<?xml version='1.0'?><html><r/></html>").0,
            [Token::Foreign("html".into())]
        );
    }

    #[test]
    fn damage_is_repaired_and_counted() {
        let (tokens, damage) =
            scan("<r a=\"say \"hi\", <b> & go\" c=1>a < b & c]]>&#0;&#27;\u{1}<x><y></x></z></r>");
        assert_eq!(
            tokens,
            [
                start("r", &[("a", "say \"hi\", <b> & go"), ("c", "1")]),
                text("a < b & c]]>\u{fffd}\u{1b}\u{1}"),
                start("x", &[]),
                start("y", &[]),
                end("y"),
                end("x"),
                end("r"),
            ]
        );
        assert_eq!(
            (damage.forbidden_references, damage.control_characters),
            (2, 1)
        );
        assert_eq!(
            (damage.unclosed, damage.unopened, damage.section_ends),
            (1, 1, 1)
        );
        assert!(damage.quotes > 0 && damage.unescaped > 1);
        assert_eq!(damage.cut, None);
    }

    #[test]
    fn every_truncation_is_noticed() {
        let whole =
            "<?xml version='1.0'?><r a='1&amp;2'><c>te&lt;xt</c><![CDATA[se]]><!-- c --></r>";
        let begun = whole.find("<r").unwrap_or(0) + 1;
        for at in begun..whole.len() {
            let (tokens, damage) = scan(&whole[..at]);
            assert!(damage.cut.is_some() || at == begun, "{}", &whole[..at]);
            assert!(
                tokens.last() == Some(&Token::Cut) || at == begun,
                "{}",
                &whole[..at]
            );
        }
    }

    #[test]
    fn a_new_declaration_ends_the_document_before() {
        let (tokens, damage) = scan("<r><c n=\"a<?xml version='1.0'?><r/>");
        assert_eq!(
            tokens,
            [start("r", &[]), Token::Cut, start("r", &[]), end("r")]
        );
        assert_eq!(
            damage.cut.as_deref(),
            Some("inside <r>, in an attribute value")
        );
    }
}
