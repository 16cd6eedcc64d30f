//! The headline of a report, if the scenario defines it: how much load the target took, and with which timing. A trial
//! whose load is made inside the target, or whose subject is a count, is not summarized by its largest journey. Does
//! not look figures up.

use serde::{Deserialize, Serialize};

use super::gate::KnownFigures;
use super::reader::NodeReader;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadlineFigure {
    /// The path of the figure.
    pub figure: String,
    /// Its label, including the unit: `actors moving`, `ms until a move is answered, p99`.
    pub of: String,
}

/// Reads `[headline]`: both of its figures, or none.
pub(super) fn read(at: &NodeReader<'_>, known: &KnownFigures) -> Option<[HeadlineFigure; 2]> {
    let fields = at.table()?;
    let took =
        fields.required("took", "the figure that says how much, such as { figure = \"visit.ok\", of = \"visits\" }");
    let lasted = fields.required("lasted", "the figure that says how long that took");
    let read = [took, lasted].map(|at| at.and_then(|at| read_headline_figure(&at, known)));
    fields.reject_unknown_keys();
    let [took, lasted] = read;
    Some([took?, lasted?])
}

fn read_headline_figure(at: &NodeReader<'_>, known: &KnownFigures) -> Option<HeadlineFigure> {
    let fields = at.table()?;
    let figure_at = fields.required("figure", "the path of a figure, as gates name it");
    let figure = figure_at.as_ref().and_then(NodeReader::text);
    let of = fields.required("of", "what the figure is of, with its unit").and_then(|at| at.text());
    fields.reject_unknown_keys();
    if let (Some(at), Some(Err(message))) = (&figure_at, figure.map(|path| known.check(path))) {
        at.add_error(message);
        return None;
    }
    Some(HeadlineFigure { figure: figure?.to_owned(), of: of?.to_owned() })
}
