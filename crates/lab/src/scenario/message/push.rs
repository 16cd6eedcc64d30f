//! Pushes: frames that a service sends without a request, counted by name, with their bytes and their delay. Does not
//! know what they mean.

use super::super::reader::{NodeReader, read_name};
use super::FormatStatus;
use super::frame_path::FramePath;

/// A kind of pushed frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// Its name; figures are found under it.
    pub name: String,
    /// What such a frame contains.
    pub path: FramePath,
    /// Where the frame has the time of its event, in microseconds of Unix time.
    pub event_time: Option<FramePath>,
}

/// The name under which frames are counted that match no other name and answer no message.
pub const OTHER_PUSH: &str = "other";

impl Push {
    pub(crate) fn read(at: &NodeReader<'_>, known: FormatStatus<'_>) -> Option<Self> {
        let language = known.require(at)?;
        let fields = at.table()?;
        let name_at = fields.required("name", "its figures are found under it");
        let name = name_at.as_ref().and_then(read_name);
        if let (Some(at), Some(OTHER_PUSH)) = (&name_at, name.as_deref()) {
            at.add_error(format!("must be called otherwise: `{OTHER_PUSH}` are the frames that have no name"));
        }
        let holds = fields.required("at", "what such a frame holds, such as \"/view\"");
        let holds = holds.and_then(|at| language.read_frame_path(&at));
        let since = fields.optional("since").map(|at| language.read_frame_path(&at));
        fields.reject_unknown_keys();
        Some(Self { name: name?, path: holds?, event_time: since.map_or(Some(None), |way| way.map(Some))? })
    }
}
