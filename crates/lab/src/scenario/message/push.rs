//! Frames that a service sends of its own accord: counted by name, with their bytes, and with how late they came.
//! Refuses to know what they mean.

use super::super::reader::{At, name_of};
use super::Known;
use super::way::Way;

/// A kind of frames that are pushed.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// Its name: figures are found under it.
    pub name: String,
    /// What such a frame holds.
    pub at: Way,
    /// Where it says when what it tells of happened, in microseconds of Unix time.
    pub since: Option<Way>,
}

/// The name under which frames are counted that no other name fits, and that answer nothing.
pub const OTHER: &str = "other";

impl Push {
    pub(crate) fn read(at: &At<'_>, known: Known<'_>) -> Option<Self> {
        let language = known.language(at)?;
        let fields = at.fields()?;
        let name_at = fields.need("name", "its figures are found under it");
        let name = name_at.as_ref().and_then(name_of);
        if let (Some(at), Some(OTHER)) = (&name_at, name.as_deref()) {
            at.wrong(format!("must be called otherwise: `{OTHER}` are the frames that have no name"));
        }
        let holds = fields.need("at", "what such a frame holds, such as \"/view\"");
        let holds = holds.and_then(|at| language.way_at(&at));
        let since = fields.take("since").map(|at| language.way_at(&at));
        fields.close();
        Some(Self { name: name?, at: holds?, since: since.map_or(Some(None), |way| way.map(Some))? })
    }
}
