//! Background loops of a journey: loops of steps, each over its own connection, that begin after one of the journey's
//! steps and end with the journey at the latest. Does not know what the steps do.

use std::collections::BTreeMap;
use std::ops::Range;

use super::document::Value;
use super::reader::{NodeReader, check_template_name};
use super::template::TemplateNames;
use crate::format::known_names;
use crate::limits::BACKGROUND_LOOPS_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundLoops {
    /// The index of the journey's step after whose response they begin.
    pub after_step: usize,
    /// Their steps, by index.
    pub steps: Range<usize>,
    /// For each loop, its own names and the kept values that they stand for.
    pub loop_bindings: Vec<Vec<(String, String)>>,
}

/// `{ token = ["token_1", "token_2"] }`: as many loops as each list has kept values, each loop with its own value.
pub(super) fn read_bindings(at: &NodeReader<'_>, names: &TemplateNames) -> Vec<Vec<(String, String)>> {
    let mut each: Vec<Vec<(String, String)>> = Vec::new();
    let columns = at.named_entries().unwrap_or_default();
    for (index, (name, column)) in columns.iter().enumerate() {
        check_template_name(column, name);
        let kept: Vec<String> =
            column.list().unwrap_or_default().iter().filter_map(|at| read_kept_name(at, names)).collect();
        if index == 0 {
            each.resize(kept.len(), Vec::new());
        }
        if kept.is_empty() || kept.len() > BACKGROUND_LOOPS_MAX || kept.len() != each.len() {
            column.add_error(format!(
                "must list from 1 to {BACKGROUND_LOOPS_MAX} kept values, and as many as its neighbours"
            ));
            continue;
        }
        for (own, kept) in each.iter_mut().zip(kept) {
            own.push(((*name).to_owned(), kept));
        }
    }
    each
}

fn read_kept_name(at: &NodeReader<'_>, names: &TemplateNames) -> Option<String> {
    let Value::Text(text) = &at.node.value else {
        at.add_error("must be the name of a kept value");
        return None;
    };
    if !names.known.contains(text) {
        let known: Vec<&str> = names.known.iter().map(String::as_str).collect();
        at.add_error(format!("names `{text}`, which nothing has set before; known here: {}", known_names(known)));
    }
    Some(text.clone())
}

/// The names that every loop binds.
pub(super) fn bound_names(each: &[Vec<(String, String)>]) -> impl Iterator<Item = String> {
    let names: BTreeMap<&String, ()> = each.iter().flatten().map(|(name, _)| (name, ())).collect();
    names.into_keys().cloned().collect::<Vec<_>>().into_iter()
}
