//! Observers: figures of any endpoint of the target, read periodically and put on the timeline beside the client's
//! view. Does not know what the figures mean.

use std::time::Duration;

use indexmap::IndexMap;

use super::known_order::{KnownOrder, ORDER_FIGURES};
use super::reader::{NodeReader, check_name, read_name, read_pointer};
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
    /// Lists whose true order is known: two figures more.
    pub order: Option<KnownOrder>,
}

impl Observer {
    pub(crate) fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        let figures = "names and JSON pointers, such as { waiting = \"/queue/waiting\" }";
        at.table(|fields| Self {
            name: fields.required("name", "its figures are found under it", read_name),
            path: fields.required("read", "\"GET /path\" of a JSON document", |at| read_get_path(at, names)),
            interval: fields.or("every", OBSERVE_EVERY, |at| at.duration(OBSERVE_EVERY_MIN..=WAIT_MAX)),
            figures: match fields.has("order") {
                true => fields.optional("figures", read_figures).unwrap_or_default(),
                false => fields.required("figures", figures, read_figures),
            },
            order: fields.optional("order", |at| KnownOrder::read(at, names)),
        })
    }

    /// The names of all its figures.
    pub fn figure_names(&self) -> impl Iterator<Item = &str> {
        let of_order: &[&str] = if self.order.is_some() { &ORDER_FIGURES } else { &[] };
        self.figures.iter().map(|(figure, _)| figure.as_str()).chain(of_order.iter().copied())
    }
}

fn read_figures(at: &NodeReader<'_>) -> Option<Vec<(String, String)>> {
    if at.node.as_table().is_some_and(IndexMap::is_empty) {
        at.add_error("must name at least one figure");
    }
    let figures = at.entries(|name, at| {
        check_name(at, name);
        if ORDER_FIGURES.contains(&name) {
            at.add_error(format!("must be called otherwise: {} are figures of `order`", ORDER_FIGURES.join(", ")));
        }
        Some((name.to_owned(), read_pointer(at)?))
    });
    (!figures.is_empty()).then_some(figures)
}
