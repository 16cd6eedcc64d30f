//! Observers: any figure of any endpoint of the target, read once in a while and put on the timeline beside the
//! client's view. Refuses to know what the figures mean.

use std::time::Duration;

use super::reader::{At, is_name, name_of, pointer_of};
use super::target::get_of;
use super::template::{Names, Template};
use crate::limits::{OBSERVE_EVERY, OBSERVE_EVERY_MIN, WAIT_MAX};

/// Figures of an endpoint of the target, read once in a while and put on the timeline.
#[derive(Clone, Debug)]
pub struct Observe {
    /// Its name: figures are found under it.
    pub name: String,
    /// The request that reads them.
    pub path: Template,
    /// From one reading to the next.
    pub every: Duration,
    /// Figures: name and JSON pointer.
    pub figures: Vec<(String, String)>,
}

impl Observe {
    pub(crate) fn read(at: &At<'_>, names: &Names) -> Option<Self> {
        let fields = at.fields()?;
        let name = fields.need("name", "its figures are found under it").and_then(|at| name_of(&at));
        let path = fields.need("read", "\"GET /path\" of a JSON document").and_then(|at| get_of(&at, names));
        let every = fields.take("every").map_or(Some(OBSERVE_EVERY), |at| at.duration(OBSERVE_EVERY_MIN..=WAIT_MAX));
        let figures = fields.need("figures", "names and JSON pointers, such as { waiting = \"/queue/waiting\" }");
        let figures = figures.and_then(|at| figures_of(&at));
        fields.close();
        Some(Self { name: name?, path: path?, every: every?, figures: figures? })
    }
}

fn figures_of(at: &At<'_>) -> Option<Vec<(String, String)>> {
    let figure = |(name, at): (&str, At<'_>)| {
        if !is_name(name) {
            at.wrong("must be named with small letters, digits and _");
        }
        Some((name.to_owned(), pointer_of(&at)?))
    };
    let named = at.named()?;
    if named.is_empty() {
        at.wrong("must name at least one figure");
    }
    Some(named.into_iter().filter_map(figure).collect())
}
