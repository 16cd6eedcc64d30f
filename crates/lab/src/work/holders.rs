//! Holders of work items, as the target names them: each name is stored once, however many items it has. Does not know
//! what a holder is.

use serde_json::Value;

use crate::limits::HOLDERS_MAX;

/// The index of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder(usize);

/// The names so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Holders(Vec<Box<str>>);

impl Holders {
    /// The holder that a status names: a text, a number or a flag. An item whose status has `null` there has no holder.
    pub(super) fn intern(&mut self, value: &Value) -> Option<Holder> {
        let name = match value {
            Value::String(name) if !name.is_empty() => name.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return None,
        };
        let known = self.0.iter().position(|known| **known == *name);
        Some(Holder(known.unwrap_or_else(|| {
            if self.0.len() < HOLDERS_MAX {
                self.0.push(name.into());
                return self.0.len() - 1;
            }
            HOLDERS_MAX
        })))
    }

    /// Its name in results.
    pub(super) fn name(&self, holder: Option<Holder>) -> &str {
        match holder {
            None => "nobody",
            Some(Holder(index)) => self.0.get(index).map_or("others", |name| name),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: &str) {
        let mut holders = Holders::default();
        let holder = holders.intern(value);
        assert_eq!(holders.name(holder), expected, "{value}");
    }

    #[test]
    fn names() {
        check(&json!("node-1"), "node-1");
        check(&json!(7), "7");
        check(&json!(null), "nobody");
        check(&json!(""), "nobody");
        check(&json!(["node-1"]), "nobody");
    }

    #[test]
    fn names_over_the_limit_are_one() {
        let mut holders = Holders::default();
        let all: Vec<_> = (0..HOLDERS_MAX + 2).map(|number| holders.intern(&json!(number))).collect();
        assert_eq!(holders.name(all[HOLDERS_MAX - 1]), (HOLDERS_MAX - 1).to_string());
        assert_eq!([holders.name(all[HOLDERS_MAX]), holders.name(all[HOLDERS_MAX + 1])], ["others"; 2]);
        assert_eq!(holders.intern(&json!(3)), all[3]);
    }
}
