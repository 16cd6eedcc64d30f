//! `/duels/{id}`: a duel for people, to be linked to. No script: while the duel runs, the browser loads the page anew.

use super::read::find_visible;
use crate::app::App;
use crate::auth::Principal;
use crate::console::{self, HTML, SECURITY_HEADERS};
use crate::extract::{MaybePrincipal, PathId};
use crate::problem::ApiResult;
use crate::view_cache::ViewKind;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::get;
use engine::ids::CompetitionId;
use maud::{DOCTYPE, Markup, html};
use utoipa_axum::router::OpenApiRouter;
use wire::api::{DuelDetails, DuelPairing, DuelTest};

/// Seconds between two loads of the page of a running duel.
const REFRESH_S: &str = "5";
const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// Size of the chart, in its own units.
const CHART: (f64, f64) = (600.0, 200.0);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().route("/duels/{id}", get(duel_page))
}

async fn duel_page(
    State(app): State<App>,
    principal: ApiResult<MaybePrincipal>,
    id: ApiResult<PathId<CompetitionId>>,
    headers: HeaderMap,
) -> Response {
    let page = async {
        let (MaybePrincipal(principal), PathId(id)) = (principal?, id?);
        show(&app, principal, id, &headers).await
    };
    page.await.unwrap_or_else(|error| console::refusal(error, &headers))
}

async fn show(app: &App, principal: Option<Principal>, id: CompetitionId, headers: &HeaderMap) -> ApiResult<Response> {
    let found = find_visible(app, id, principal.as_ref().and_then(Principal::account)).await?;
    let refresh = found.duel.end().is_none().then_some([(REFRESH, REFRESH_S)]);
    // It shows nothing that its owner alone may see: one page for all.
    let version = found.version();
    let page = app.views.get(id, ViewKind::DuelPage, version, move || render(&found.details()).into_string().into());
    let shown = page.await?.into_response(headers, HeaderValue::from_static(HTML));
    Ok((SECURITY_HEADERS, refresh.map(AppendHeaders), shown).into_response())
}

fn render(duel: &DuelDetails) -> Markup {
    let summary = &duel.summary;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="color-scheme" content="dark light";
                title { (summary.name) }
            }
            body {
                h1 { (summary.name) }
                p { b { (duel.verdict) } }
                p { (duel.game_type) " on " (duel.map) ", " (duel.board) ", " (duel.timeout_ms) " ms a move. " (summary.status) ". " (duel.games_in_flight) " games are being played, " (summary.games_ended) " have ended." }
                @if let (Some(test), [pairing]) = (&duel.test, duel.pairings.as_slice()) {
                    (test_section(duel, test, pairing))
                } @else {
                    (league_section(duel))
                }
                p { a href={ "/api/duels/" (summary.id) } { "All numbers" } ", " a href={ "/api/duels/" (summary.id) "/games" } { "the games" } "." }
            }
        }
    }
}

fn test_section(duel: &DuelDetails, test: &DuelTest, pairing: &DuelPairing) -> Markup {
    let bots = &duel.summary.bots;
    html! {
        table {
            tr { th { "Baseline" } td { (bots[pairing.first].name) } }
            tr { th { "Candidate" } td { (bots[pairing.second].name) } }
            tr { th { "Games of the candidate" } td { (pairing.wins) " won, " (pairing.draws) " drawn, " (pairing.losses) " lost" } }
            tr { th { "Pairs with 0, ½, 1, 1½, 2 points" } td { (pairing.pairs.map(|count| count.to_string()).join(", ")) } }
            tr { th { "Log-likelihood ratio" } td { (number(pairing.llr, 2)) ", from " (number(Some(test.llr_lower), 2)) " to " (number(Some(test.llr_upper), 2)) } }
            tr { th { "The question" } td { "H0: " (test.elo0) " Elo, H1: " (test.elo1) " Elo" } }
            tr { th { "Elo" } td { (number(pairing.strength.elo, 0)) ", 95 % interval " (number(pairing.strength.elo_low, 0)) " to " (number(pairing.strength.elo_high, 0)) } }
        }
        (chart(duel, test))
    }
}

/// The log-likelihood ratio over pairs, between its bounds.
fn chart(duel: &DuelDetails, test: &DuelTest) -> Markup {
    let (width, height) = CHART;
    let pairs_max = duel.history.last().map_or(1, |point| point.pairs).max(1);
    let span = test.llr_upper - test.llr_lower;
    let y = |llr: f64| height * (1.0 - ((llr - test.llr_lower) / span).clamp(0.0, 1.0));
    let point = |pairs: u32, llr: f64| format!("{:.1},{:.1}", width * f64::from(pairs) / f64::from(pairs_max), y(llr));
    let points = std::iter::once(point(0, 0.0)).chain(duel.history.iter().map(|at| point(at.pairs, at.llr)));
    let points: Vec<String> = points.collect();
    let zero = y(0.0);
    html! {
        svg viewBox={ "-5 -5 " (width + 10.0) " " (height + 10.0) } width="600" role="img" aria-label="The log-likelihood ratio after each pair, between the bound of H0 below and of H1 above" {
            g fill="none" stroke="currentColor" {
                path stroke-opacity="0.5" d={ "M0 0H" (width) "M0 " (height) "H" (width) };
                path stroke-opacity="0.3" d={ "M0 " (format!("{zero:.1}")) "H" (width) };
                polyline stroke-width="2" points=(points.join(" "));
            }
        }
    }
}

fn league_section(duel: &DuelDetails) -> Markup {
    let bots = &duel.summary.bots;
    let mut rows: Vec<_> = bots.iter().zip(&duel.table).collect();
    rows.sort_by(|(_, one), (_, other)| other.elo.total_cmp(&one.elo));
    html! {
        table {
            tr { th { "Bot" } th { "Elo" } @for (bot, _) in bots.iter().zip(&duel.table) { th { "stronger than " (bot.name) } } }
            @for (bot, row) in rows {
                tr {
                    td { (bot.name) }
                    td { (number(Some(row.elo), 0)) " ± " (number(Some(row.elo_margin), 0)) }
                    @for likelihood in &row.superiority { td { (number(Some(100.0 * likelihood), 1)) " %" } }
                }
            }
        }
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "unbounded".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::api::{DuelBot, DuelPoint, DuelStrength, DuelSummary};
    use wire::time::Timestamp;

    fn duel(name: &str) -> DuelDetails {
        let strength = DuelStrength { elo: Some(12.0), elo_low: None, elo_high: Some(99.4) };
        let bot = |name: &str| DuelBot { name: name.to_owned(), snake_id: None, url: Some("http://secret".to_owned()) };
        DuelDetails {
            summary: DuelSummary {
                id: "1".to_owned(),
                name: name.to_owned(),
                status: "running".to_owned(),
                is_public: true,
                bots: vec![bot(name), bot("B")],
                games_ended: 2,
                created_at: Timestamp(0),
                ended_at: None,
            },
            end: None,
            verdict: "It is not known yet.".to_owned(),
            board: "11x11".to_owned(),
            game_type: "standard".to_owned(),
            map: "standard".to_owned(),
            timeout_ms: 500,
            seed: None,
            test: Some(DuelTest { elo0: 0.0, elo1: 50.0, alpha: 0.05, beta: 0.05, llr_lower: -3.0, llr_upper: 3.0 }),
            games_max: 100,
            pairs_at_once: 4,
            games_in_flight: 8,
            games_repeated: 0,
            silent_bot: None,
            pairings: vec![DuelPairing {
                first: 0,
                second: 1,
                wins: 1,
                draws: 0,
                losses: 1,
                pairs: [0, 0, 1, 0, 0],
                void_pairs: 0,
                llr: Some(-0.1),
                strength: strength.clone(),
            }],
            history: vec![DuelPoint { pairs: 1, llr: 30.0, strength }],
            table: Vec::new(),
        }
    }

    #[test]
    fn names_are_escaped_and_urls_are_not_shown() {
        let page = render(&duel("<script>&\"")).into_string();
        assert!(
            page.contains("&lt;script&gt;&amp;") && !page.contains("<script") && !page.contains("secret"),
            "{page}"
        );
        assert!(page.contains("unbounded to 99"), "{page}");
        // What is beyond a bound is drawn at the bound.
        assert!(page.contains("points=\"0.0,100.0 600.0,0.0\""), "{page}");
    }
}
