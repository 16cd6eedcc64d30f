//! Metrics of worlds: of all worlds of the process together, so that no label grows with their number.

use super::instruments::{Counter, Gauge, Histogram, SizeHistogram};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub WorldMetrics;
    loaded: Gauge = "gauntlet_worlds", "Worlds in memory of this process.";
    unloaded: Counter = "gauntlet_worlds_unloaded_total", "Worlds that were unloaded to make room for another one.";
    refused_full: Counter = "gauntlet_worlds_refused_full_total", "Visits to worlds that were refused because worlds.loaded_max was reached.";
    refused_share: Counter = "gauntlet_worlds_refused_share_total",
        "Visits to worlds that were refused because the server was full and no address held more of its memory than the visitor's.";
    movers: Gauge = "gauntlet_world_movers", "Movers in these worlds, actors included.";
    sinks: Gauge = "gauntlet_world_connected_movers", "Movers with a connection.";
    viewers: Gauge = "gauntlet_world_viewers", "Movers that receive views of their surroundings.";
    inputs: Counter = "gauntlet_world_inputs_total", "Inputs of movers that were applied.";
    inputs_refused: Counter = "gauntlet_world_inputs_refused_total",
        "Inputs that were refused because too many waited.";
    batches: Counter = "gauntlet_world_batches_total", "Batches in which inputs were applied.";
    inline_rounds: Counter = "gauntlet_world_inline_rounds_total", "Rounds of writers that ran inline, on the threads that sent the inputs.";
    mailbox: SizeHistogram = "gauntlet_world_mailbox_inputs", "Inputs that a writer took from its mailbox at once, when there were any.";
    apply: Histogram = "gauntlet_world_apply_seconds", "Time that a batch of inputs took to be applied, in seconds.";
    round: Histogram = "gauntlet_world_round_seconds",
        "Time from a writer's read of its mailbox until it was ready for the next, in seconds.";
    generation: Histogram = "gauntlet_world_generation_seconds",
        "Time that a writer took for a generation of bacteria, in seconds.";
    views: Counter = "gauntlet_world_views_total", "Views that were made and handed to a sender thread.";
    views_skipped: Counter = "gauntlet_world_views_skipped_total",
        "Views that were skipped because the viewer had not taken the previous one, or the sender thread was behind.";
    view_late: Histogram = "gauntlet_world_view_late_seconds", "Delay of a view after its due time, in seconds.";
    send: Histogram = "gauntlet_world_send_seconds",
        "Time from handing answers and views to a sender thread until the last of them was sent, in seconds.";
    sent_bytes: Counter = "gauntlet_world_sent_bytes_total", "Bytes of frames that were sent to movers.";
    claims: Counter = "gauntlet_world_claims_total", "Claims and other durable facts that were saved.";
    claims_lost: Counter = "gauntlet_world_claims_lost_total",
        "Claims that were not saved, or whose fate is unknown: their world was unloaded, and no client saw them.";
    claim_wait: Histogram = "gauntlet_world_claim_wait_seconds",
        "Time from handing claims to the store until its result, in seconds.";
    snapshot: Histogram = "gauntlet_world_snapshot_seconds", "Time that a writer took to write a portion of a snapshot, in seconds.";
    snapshot_bytes: Counter = "gauntlet_world_snapshot_bytes_total", "Bytes of snapshots.";
    snapshots_lost: Counter = "gauntlet_world_snapshots_lost_total", "Snapshots that were not saved, and were made again later.";
    actors: Gauge = "gauntlet_world_actors", "Actors of this process that have joined a world.";
    actors_planned: Gauge = "gauntlet_world_actors_planned", "Actors of this process that are planned.";
    actors_moving: Gauge = "gauntlet_world_actors_moving", "Actors of this process whose first move was answered.";
    actor_moves: Counter = "gauntlet_world_actor_moves_total", "Moves of actors that were answered.";
    actor_moves_missed: Counter = "gauntlet_world_actor_missed_total",
        "Moves of actors that were skipped, because the previous one had no answer yet or the timer fired a whole period late.";
    actor_move: Histogram = "gauntlet_world_actor_move_seconds",
        "Time from the due time of an actor's move to its answer, in seconds.";
}
