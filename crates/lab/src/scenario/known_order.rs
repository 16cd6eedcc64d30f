//! Known orders: a service sorts things whose true order the scenario knows, such as players of known strength. How near its list comes is a
//! figure of the observer that reads it: Spearman's coefficient. Knows neither the service nor when it is read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::feed::{Feed, FeedRows};
use super::reader::{NodeReader, read_pointer};
use super::template::TemplateNames;
use super::validation::{Origin, ValidationError};

/// The figures of an order: how near it is, and of how many things that is said.
pub const ORDER_FIGURES: [&str; 2] = ["spearman", "listed"];

/// Which lists are sorted, and by what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownOrder {
    /// Pointers to lists, each with the best first, that follow one another.
    pub lists: Vec<String>,
    /// A pointer to what an item is known by.
    pub id: String,
    /// The feed with the truth, by its index in the scenario.
    pub feed: usize,
    /// The columns of that feed with the ids and with the values, by their indices.
    pub id_column: usize,
    pub value_column: usize,
    origin: Origin,
    key: String,
}

/// The truth: by id, the value by which the best is the largest.
pub type KnownValues = BTreeMap<String, f64>;

impl KnownOrder {
    pub(super) fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        let lists = |at: &NodeReader<'_>| {
            let lists: Vec<String> = at.one_or_many().iter().filter_map(read_pointer).collect();
            (!lists.is_empty()).then_some(lists)
        };
        let feeds: Vec<(&str, usize)> =
            names.feeds.iter().enumerate().map(|(index, feed)| (feed.name.as_str(), index)).collect();
        at.table(|fields| {
            let lists = fields.required("lists", "a JSON pointer to a list, the best first, or several", lists);
            let id = fields.required("id", "a JSON pointer to what an item of the list is known by", read_pointer);
            let feed = fields.get_required("feed", "the [feed] with the true values");
            let feed = fields.need(feed.and_then(|at| at.choice(&feeds)));
            let column = |at: &NodeReader<'_>| Some(names.feeds.get(feed)?.index_of(at.text()?));
            let id_column = fields.required("by", "the column of the feed with the ids", column);
            let value_column = fields.required("value", "the column of the feed with the values", column);
            let (origin, key) = (at.node.origin.clone(), at.path.clone());
            Self { lists, id, feed, id_column, value_column, origin, key }
        })
    }

    /// The truth out of the rows of its feed.
    ///
    /// # Errors
    /// What is no number, or is there twice.
    pub fn known_values(&self, feeds: &[Feed], rows: &[FeedRows]) -> Result<KnownValues, ValidationError> {
        let error = |message: String| {
            let message = format!("cannot use {}: {message}", feeds[self.feed].file);
            ValidationError { origin: self.origin.clone(), key: self.key.clone(), message }
        };
        let mut values = KnownValues::new();
        for row in &rows[self.feed].rows {
            let (id, text) = (&row[self.id_column], &row[self.value_column]);
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| error(format!("`{text}` is the value of `{id}`, and no number")))?;
            if values.insert(id.to_string(), value).is_some() {
                return Err(error(format!("`{id}` is there twice")));
            }
        }
        Ok(values)
    }

    /// The true values of the items that a document lists, in its order. What has no known value is left out.
    #[must_use]
    pub fn listed(&self, document: &Value, known: &KnownValues) -> Vec<f64> {
        let id = |item: &Value| match item.pointer(&self.id)? {
            Value::String(text) => known.get(text).copied(),
            Value::Number(number) => known.get(&number.to_string()).copied(),
            _ => None,
        };
        let lists = self.lists.iter().filter_map(|pointer| document.pointer(pointer)?.as_array());
        lists.flatten().filter_map(id).collect()
    }
}

/// Spearman's rank correlation of a list, the best first, with the true values of its items; equal values share the mean of their
/// ranks. Nothing for fewer than two different values.
#[must_use]
pub fn spearman(values: &[f64]) -> Option<f64> {
    let listed: Vec<f64> = (0..values.len()).rev().map(|rank| rank as f64).collect();
    correlation(&listed, &mean_ranks(values))
}

/// The rank of each value, from 0 for the least.
fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let equals = order[first..].iter().take_while(|at| values[**at] == values[order[first]]).count();
        let mean = first as f64 + (equals - 1) as f64 / 2.0;
        order[first..first + equals].iter().for_each(|at| ranks[*at] = mean);
        first += equals;
    }
    ranks
}

/// Pearson's coefficient; nothing where one side does not vary.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let square = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let coefficient = product / (square(a, mean_a) * square(b, mean_b)).sqrt();
    coefficient.is_finite().then_some(coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: Option<f64>) {
        let found = spearman(values);
        let is_near = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
            (found, expected) => found == expected,
        };
        assert!(is_near, "{values:?}: {found:?} instead of {expected:?}");
    }

    /// The coefficients are those of scipy.stats.spearmanr.
    #[test]
    fn coefficients() {
        check(&[], None);
        check(&[1.0], None);
        check(&[2.0, 2.0], None);
        check(&[9.0, 7.0, 1.0], Some(1.0));
        check(&[1.0, 7.0, 9.0], Some(-1.0));
        check(&[5.0, 4.0, 2.0, 3.0, 1.0], Some(0.9));
        check(&[5.0, 5.0, 1.0, 3.0], Some(0.737_864_787_372_621_8));
    }

    #[test]
    fn the_order_is_that_of_the_lists() {
        let order = KnownOrder {
            lists: vec!["/ranked".to_owned(), "/new".to_owned()],
            id: "/name".to_owned(),
            feed: 0,
            id_column: 0,
            value_column: 1,
            origin: Origin::Line(1),
            key: String::new(),
        };
        let known = KnownValues::from([("a".to_owned(), 3.0), ("b".to_owned(), 2.0), ("7".to_owned(), 1.0)]);
        let document = serde_json::json!({
            "ranked": [{ "name": "b" }, { "name": "nobody" }, { "name": "a" }], "new": [{ "name": 7 }, { "name": null }]
        });
        assert_eq!(order.listed(&document, &known), [2.0, 3.0, 1.0]);
        assert_eq!(order.listed(&serde_json::json!({ "ranked": {}, "new": [{ "name": "b" }] }), &known), [2.0]);
    }
}
