//! What the host does to a result without telling anyone.

use std::fmt;

use crate::artifact::MAX_METADATA_CHARS;
use crate::envelope::NearMiss;
use crate::go;
use crate::render::Truncation;

/// One thing that the host dropped, moved, changed or cut in silence.
///
/// The model does not learn of it; an author can. The text is a full sentence. Items are numbered
/// from 0 in the order of the result's `content`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// A content item of another type than `text` was dropped.
    NonTextItemDropped {
        /// Position of the item.
        index: usize,
        /// Its type; empty when it has none.
        kind: String,
    },
    /// `structuredContent` was dropped.
    StructuredContentDropped,
    /// Another member of the result was ignored.
    ResultMemberIgnored {
        /// Name of the member.
        member: String,
    },
    /// Members of a text item, such as `annotations`, were ignored.
    ItemMembersIgnored {
        /// Position of the item.
        index: usize,
        /// Names of the members.
        members: Vec<String>,
    },
    /// Nothing was left for the model to read.
    EmptyText,
    /// Several text items were joined with line feeds.
    ItemsJoined {
        /// Number of text items.
        count: usize,
    },
    /// A text was meant as an envelope and was passed on as it stands.
    EnvelopeNotRecognised {
        /// Position of the item, when the text is that of one item alone.
        index: Option<usize>,
        /// Why it is none.
        near_miss: NearMiss,
    },
    /// Several envelopes became one.
    EnvelopesMerged {
        /// Number of envelopes.
        count: usize,
    },
    /// A text item in front of an envelope was moved behind its metadata lines.
    NoteMovedBehindEnvelope {
        /// Position of the item.
        index: usize,
    },
    /// A blank text item beside an envelope was dropped.
    BlankNoteDropped {
        /// Position of the item.
        index: usize,
    },
    /// Members of an envelope that the host does not know were ignored.
    EnvelopeMembersIgnored {
        /// Names of the members.
        members: Vec<String>,
    },
    /// Members of a reference that the host does not know were ignored.
    ArtifactMembersIgnored {
        /// Id of the reference.
        id: String,
        /// Names of the members.
        members: Vec<String>,
    },
    /// Several references have the same id.
    ArtifactIdRepeated {
        /// The id.
        id: String,
    },
    /// Controls, direction marks or line breaks in a metadata line became spaces.
    MetadataFlattened {
        /// Id of the reference.
        id: String,
        /// The member at fault.
        field: MetadataField,
    },
    /// A field of a metadata line was cut.
    MetadataCut {
        /// Id of the reference.
        id: String,
        /// The member at fault.
        field: MetadataField,
        /// Characters before the cut.
        chars: usize,
    },
    /// Lines that looked like metadata lines got a space in front.
    LinesIndented {
        /// Number of lines.
        count: usize,
    },
    /// The text was cut at the cap.
    Truncated(Truncation),
    /// The cap cut metadata lines.
    MetadataLinesCut {
        /// Lines that the model still sees whole.
        whole: usize,
        /// Lines that there should be.
        total: usize,
    },
    /// A tool error holds an envelope, which is shown as raw JSON.
    EnvelopeInErrorNotOpened,
    /// Content items behind the first of a tool error were dropped.
    ErrorItemsDropped {
        /// Number of items.
        count: usize,
    },
    /// A tool error has no content, so the host made up a text.
    ErrorWithoutContent,
}

/// A member of a reference that a metadata line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataField {
    /// `id`
    Id,
    /// `media_type`
    MediaType,
    /// `summary`
    Summary,
}

impl fmt::Display for MetadataField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "id",
            Self::MediaType => "media_type",
            Self::Summary => "summary",
        })
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonTextItemDropped { index, kind } if kind.is_empty() => {
                write!(
                    f,
                    "Content item {index} has no type, so the host dropped it."
                )
            }
            Self::NonTextItemDropped { index, kind } => write!(
                f,
                "Content item {index} has the type {}; the host keeps only text items and dropped \
                 it.",
                go::quote(kind)
            ),
            Self::StructuredContentDropped => f.write_str(
                "The host does not read structuredContent; only the text items reach the model.",
            ),
            Self::ResultMemberIgnored { member } => {
                write!(
                    f,
                    "The host does not read the member {} of the result.",
                    go::quote(member)
                )
            }
            Self::ItemMembersIgnored { index, members } => write!(
                f,
                "Of content item {index} the host reads type and text only; it ignored {}.",
                list(members)
            ),
            Self::EmptyText => f.write_str("The model reads an empty text."),
            Self::ItemsJoined { count } => {
                write!(f, "The host joined {count} text items with line feeds.")
            }
            Self::EnvelopeNotRecognised {
                index: Some(index),
                near_miss,
            } => write!(
                f,
                "Content item {index} looks like an envelope but is plain text to the host, \
                 because {near_miss}; the model reads the raw JSON, file URIs included."
            ),
            Self::EnvelopeNotRecognised {
                index: None,
                near_miss,
            } => write!(
                f,
                "The text looks like an envelope but is plain text to the host, because \
                 {near_miss}; the model reads the raw JSON, file URIs included."
            ),
            Self::EnvelopesMerged { count } => write!(
                f,
                "The host merged {count} envelopes: first all texts, then all metadata lines."
            ),
            Self::NoteMovedBehindEnvelope { index } => write!(
                f,
                "Content item {index} stands in front of an envelope; the host moved it behind \
                 the metadata lines."
            ),
            Self::BlankNoteDropped { index } => {
                write!(
                    f,
                    "Content item {index} is blank and beside an envelope; the host dropped it."
                )
            }
            Self::EnvelopeMembersIgnored { members } => write!(
                f,
                "The host does not know these members of the envelope and ignored them: {}.",
                list(members)
            ),
            Self::ArtifactMembersIgnored { id, members } => write!(
                f,
                "The host does not know these members of artifact {} and ignored them: {}.",
                go::quote(id),
                list(members)
            ),
            Self::ArtifactIdRepeated { id } => write!(
                f,
                "Several artifacts have the id {}; the host does not mind, but the contract asks \
                 for unique ids.",
                go::quote(id)
            ),
            Self::MetadataFlattened { id, field } => write!(
                f,
                "The {field} of artifact {} holds line breaks, controls or direction marks; the \
                 host shows spaces in their place.",
                go::quote(id)
            ),
            Self::MetadataCut { id, field, chars } => write!(
                f,
                "The {field} of artifact {} has {chars} characters; the host shows the first \
                 {MAX_METADATA_CHARS}.",
                go::quote(id)
            ),
            Self::LinesIndented { count: 1 } => f.write_str(
                "A line begins like a metadata line (\"- artifact \"); the host put a space in \
                 front of it.",
            ),
            Self::LinesIndented { count } => write!(
                f,
                "{count} lines begin like metadata lines (\"- artifact \"); the host put a space \
                 in front of each."
            ),
            Self::Truncated(Truncation { observed, limit }) => write!(
                f,
                "The text has {observed} characters, more than max_result_chars={limit}; the host \
                 cut it and added its notice."
            ),
            Self::MetadataLinesCut { whole, total } => write!(
                f,
                "Of {total} metadata lines the model sees {whole} whole; the cap cut the others."
            ),
            Self::EnvelopeInErrorNotOpened => f.write_str(
                "The text of a tool error is never opened as an envelope; the model reads the raw \
                 JSON, file URIs included.",
            ),
            Self::ErrorItemsDropped { count } => write!(
                f,
                "Of a tool error the host reads the first content item only; it dropped {count} \
                 more."
            ),
            Self::ErrorWithoutContent => f.write_str(
                "The tool error has no content item, so the model reads \"unknown error\".",
            ),
        }
    }
}

/// Names in quotes, separated by commas.
fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|name| go::quote(name))
        .collect::<Vec<_>>()
        .join(", ")
}
