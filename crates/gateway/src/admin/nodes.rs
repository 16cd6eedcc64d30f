//! `GET /api/admin/nodes`: which nodes there are, whether they live, and what they hold.

use crate::app::App;
use crate::extract::Operator;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use engine::ids::WorkerId;
use engine::limits::NODES_LISTED_MAX;
use engine::rows::NodeRow;
use engine::time::UnixMs;
use node::lease::LeaseContext;
use wire::api::NodeView;
use wire::time::Timestamp;

/// List the nodes of this server's database
///
/// For operators and admins. The nodes that live, by their addresses, then those that have gone within a day, the last one first: 200 at most.
#[utoipa::path(get, path = "/api/admin/nodes", tag = "admin", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "The nodes, with what each holds.", body = Vec<NodeView>),
))]
pub(super) async fn list_nodes(State(app): State<App>, Operator(_): Operator) -> ApiResult<Json<Vec<NodeView>>> {
    let (own, now) = (app.node.address(), app.node.clock.now());
    let nodes = app.node.store.read(move |reader| reader.nodes(now, NODES_LISTED_MAX)).await?;
    Ok(Json(nodes.into_iter().map(|node| view(node, &own, now)).collect()))
}

fn view(node: NodeRow, own: &str, now: UnixMs) -> NodeView {
    let is_living = !node.workers.is_empty();
    // A lease that was given up may have had some time left.
    let end = if is_living { node.lease_until } else { node.lease_until.min(now) };
    // That of a process which had the database for itself is ended without a time.
    let is_known = node.lease_until != UnixMs::MAX && node.lease_until > UnixMs(0);
    NodeView {
        is_this: node.address == own,
        address: node.address,
        is_living,
        since: node.workers.first().map(|worker| Timestamp(worker.created_at().0)),
        lease_ends_at: is_known.then_some(Timestamp(end.0)),
        workers: node.workers.iter().map(WorkerId::to_string).collect(),
        games: node.holdings.matches,
        tables: node.holdings.tables,
        worlds: node.holdings.worlds,
        hunts: node.holdings.hunts,
        jobs: node.jobs.into_iter().map(|job| job.name().to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::rows::NodeHoldings;

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    /// What is said of a node with these workers, whose last lease ends then: whether it lives, since when, until when.
    #[track_caller]
    fn check(workers: &[i64], lease_until: i64, want: (bool, Option<i64>, Option<i64>)) {
        let workers = workers.iter().map(|at| WorkerId::new(UnixMs(*at), [7; 10])).collect();
        let (address, lease_until) = ("10.0.0.1:4000".to_owned(), UnixMs(lease_until));
        let node = NodeRow { address, workers, lease_until, holdings: NodeHoldings::default(), jobs: Vec::new() };
        let shown = view(node, "10.0.0.2:4000", NOW);
        let (since, until) = (shown.since.map(|at| at.0), shown.lease_ends_at.map(|at| at.0));
        assert_eq!((shown.is_living, since, until), want);
        assert!(!shown.is_this);
    }

    #[test]
    fn a_node_says_whether_it_lives_and_until_when() {
        check(&[NOW.0 - 20, NOW.0 - 10], NOW.0 + 5_000, (true, Some(NOW.0 - 20), Some(NOW.0 + 5_000)));
        check(&[NOW.0 - 20], i64::MAX, (true, Some(NOW.0 - 20), None));
        check(&[], NOW.0 - 3, (false, None, Some(NOW.0 - 3)));
        check(&[], NOW.0 + 3_000, (false, None, Some(NOW.0)));
        check(&[], 0, (false, None, None));
        check(&[], i64::MAX, (false, None, None));
    }
}
