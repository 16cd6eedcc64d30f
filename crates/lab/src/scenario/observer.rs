//! Observers: figures of any endpoint of the target, read periodically and put on the timeline beside the client's
//! view. Does not know what the figures mean.

use std::time::Duration;

use super::reader::{NodeReader, is_valid_name, read_name, read_pointer};
use super::target::read_get_path;
use super::template::{Template, TemplateNames};
use crate::limits::{OBSERVE_EVERY, OBSERVE_EVERY_MIN, WAIT_MAX};

/// Figures of an endpoint of the target, read periodically and put on the timeline.
#[derive(Clone, Debug)]
pub struct Observer {
    /// Its name; figures are found under it.
    pub name: String,
    /// The request that reads them.
    pub path: Template,
    pub interval: Duration,
    /// Figures: name and JSON pointer.
    pub figures: Vec<(String, String)>,
}

impl Observer {
    pub(crate) fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        let fields = at.table()?;
        let name = fields.required("name", "its figures are found under it").and_then(|at| read_name(&at));
        let path = fields.required("read", "\"GET /path\" of a JSON document").and_then(|at| read_get_path(&at, names));
        let every =
            fields.optional("every").map_or(Some(OBSERVE_EVERY), |at| at.duration(OBSERVE_EVERY_MIN..=WAIT_MAX));
        let figures = fields.required("figures", "names and JSON pointers, such as { waiting = \"/queue/waiting\" }");
        let figures = figures.and_then(|at| read_figures(&at));
        fields.reject_unknown_keys();
        Some(Self { name: name?, path: path?, interval: every?, figures: figures? })
    }
}

fn read_figures(at: &NodeReader<'_>) -> Option<Vec<(String, String)>> {
    let figure = |(name, at): (&str, NodeReader<'_>)| {
        if !is_valid_name(name) {
            at.add_error("must be named with small letters, digits and _");
        }
        Some((name.to_owned(), read_pointer(&at)?))
    };
    let named = at.named_entries()?;
    if named.is_empty() {
        at.add_error("must name at least one figure");
    }
    Some(named.into_iter().filter_map(figure).collect())
}
