//! Collects compile errors, so that an author sees all of them at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Result};

#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// An error that underlines `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(Error::new_spanned(tokens, message));
    }

    /// The value of a result, or none after noting its error.
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// What the compiler shall report; nothing when all is well.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(Error::into_compile_error)
    }

    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0
            .into_iter()
            .flatten()
            .map(|error| error.to_string())
            .collect()
    }
}
