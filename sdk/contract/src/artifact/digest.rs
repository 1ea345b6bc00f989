//! SHA-256 digests in the one form that the contract knows.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};

/// Digits of the digest that the model and error messages see; the rest becomes `…`.
const SHORT_DIGITS: usize = 12;

/// A SHA-256 digest; written as 64 lower-case hex digits.
///
/// ```
/// use odek_contract::artifact::Sha256Digest;
///
/// let digest = Sha256Digest::of(b"hello\n");
/// assert_eq!(digest.short(), "5891b5b522d5…");
/// assert_eq!(digest.to_string().parse::<Sha256Digest>(), Ok(digest));
/// assert!(digest.to_string().to_uppercase().parse::<Sha256Digest>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// Digest of bytes that are at hand.
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(content.as_ref()).into())
    }

    /// Wraps the 32 bytes that a hasher produced.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve digits and `…`, the form in which metadata lines and errors show a digest
    /// (host facts, section 4).
    pub fn short(&self) -> String {
        shorten_digest(&self.to_string())
    }
}

/// The short form of a digest that may not be one: longer than twelve characters is cut.
pub(crate) fn shorten_digest(digest: &str) -> String {
    match digest.char_indices().nth(SHORT_DIGITS) {
        Some((end, _)) => format!("{}…", &digest[..end]),
        None => digest.to_owned(),
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256Digest({self})")
    }
}

/// A text is not a SHA-256 digest in the form of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 digest is 64 lower-case hex digits")]
pub struct DigestFormatError;

impl FromStr for Sha256Digest {
    type Err = DigestFormatError;

    /// Accepts exactly 64 digits from `0-9a-f`: no capitals, no prefix, no white space
    /// (host facts, section 10, check 12).
    fn from_str(text: &str) -> Result<Self, DigestFormatError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(DigestFormatError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (hex_value(pair[0])? << 4) | hex_value(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex_value(digit: u8) -> Result<u8, DigestFormatError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestFormatError),
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// Digest and length in bytes of a file's content, read once and never held in memory whole.
///
/// # Errors
///
/// The error of opening or reading the file.
pub fn hash_file(path: &Path) -> io::Result<(Sha256Digest, u64)> {
    hash_reader(File::open(path)?)
}

/// Digest and length of everything that a reader gives.
pub(crate) fn hash_reader(mut reader: impl Read) -> io::Result<(Sha256Digest, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((Sha256Digest(hasher.finalize().into()), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_is_hashed_like_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let content = vec![7_u8; 200_000];
        std::fs::write(file.path(), &content).unwrap();
        assert_eq!(
            hash_file(file.path()).unwrap(),
            (Sha256Digest::of(&content), 200_000)
        );
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = hash_file(Path::new("/nonexistent/file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_short_form_never_splits_a_character() {
        assert_eq!(shorten_digest("ab"), "ab");
        assert_eq!(shorten_digest("123456789012"), "123456789012");
        assert_eq!(shorten_digest("12345678901éx"), "12345678901é…");
    }

    proptest! {
        #[test]
        fn only_lower_case_digits_parse(text in "[0-9a-fA-F ]{63,65}") {
            let well_formed = text.len() == 64
                && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            prop_assert_eq!(text.parse::<Sha256Digest>().is_ok(), well_formed);
        }

        #[test]
        fn text_form_round_trips(bytes in any::<[u8; 32]>()) {
            let digest = Sha256Digest::from_bytes(bytes);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        }
    }
}
