//! What a report says first, where the scenario says so itself: how much the target took, and how long that took. A trial whose load is
//! made inside the target, or whose point is a count, is not told by its largest journey. Refuses to look figures up.

use serde::{Deserialize, Serialize};

use super::gate::KnownFigures;
use super::reader::At;

/// A figure at the head of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leading {
    /// The path of the figure.
    pub figure: String,
    /// What it is of, its unit included: `actors moving`, `ms until a move is answered, p99`.
    pub of: String,
}

/// Reads `[headline]`: both of its figures, or none.
pub(super) fn read(at: &At<'_>, known: &KnownFigures) -> Option<[Leading; 2]> {
    let fields = at.fields()?;
    let took = fields.need("took", "the figure that says how much, such as { figure = \"visit.ok\", of = \"visits\" }");
    let lasted = fields.need("lasted", "the figure that says how long that took");
    let read = [took, lasted].map(|at| at.and_then(|at| leading(&at, known)));
    fields.close();
    let [took, lasted] = read;
    Some([took?, lasted?])
}

fn leading(at: &At<'_>, known: &KnownFigures) -> Option<Leading> {
    let fields = at.fields()?;
    let figure_at = fields.need("figure", "the path of a figure, as gates name it");
    let figure = figure_at.as_ref().and_then(At::text);
    let of = fields.need("of", "what the figure is of, with its unit").and_then(|at| at.text());
    fields.close();
    if let (Some(at), Some(Err(message))) = (&figure_at, figure.map(|path| known.check(path))) {
        at.wrong(message);
        return None;
    }
    Some(Leading { figure: figure?.to_owned(), of: of?.to_owned() })
}
