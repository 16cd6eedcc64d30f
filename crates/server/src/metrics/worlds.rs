//! Metrics of worlds: of all worlds of the process together, so that no label grows with their number.

use super::instruments::{Counter, Gauge, Histogram, SizeHistogram};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub WorldMetrics;
    loaded: Gauge = "gauntlet_worlds", "Worlds in the memory of this process.";
    unloaded: Counter = "gauntlet_worlds_unloaded_total", "Worlds that left memory because another one needed the room.";
    refused_full: Counter = "gauntlet_worlds_refused_full_total", "Visits to worlds that were refused because as many were in memory as may be.";
    refused_share: Counter = "gauntlet_worlds_refused_share_total",
        "Visits to worlds that were refused because no address held more of a full server's memory than the visitor's.";
    movers: Gauge = "gauntlet_world_movers", "Movers in these worlds, actors included.";
    sinks: Gauge = "gauntlet_world_outlets", "Movers that are told something through a connection.";
    viewers: Gauge = "gauntlet_world_viewers", "Movers that are shown around.";
    inputs: Counter = "gauntlet_world_inputs_total", "Inputs of movers that were applied.";
    inputs_refused: Counter = "gauntlet_world_inputs_refused_total",
        "Inputs that were not taken because too many waited.";
    batches: Counter = "gauntlet_world_batches_total", "Batches in which inputs were applied.";
    inline_rounds: Counter = "gauntlet_world_rounds_aside_total", "Rounds of writers on the threads of those who brought the inputs.";
    mailbox: SizeHistogram = "gauntlet_world_mailbox_inputs", "Inputs that a writer found in its mailbox, each time that it looked and found any.";
    apply: Histogram = "gauntlet_world_apply_seconds", "Time that a batch of inputs took to be applied, in seconds.";
    round: Histogram = "gauntlet_world_round_seconds",
        "Time from a writer's taking what had come to its being ready for more, in seconds.";
    generation: Histogram = "gauntlet_world_generation_seconds",
        "Time that a writer took for a generation of bacteria, in seconds.";
    views: Counter = "gauntlet_world_views_total", "Views that were cut and handed to a teller.";
    views_skipped: Counter = "gauntlet_world_views_skipped_total",
        "Views that were not cut because their viewer had not taken the one before, or his teller was behind.";
    view_late: Histogram = "gauntlet_world_view_late_seconds", "Time by which a view came after its turn, in seconds.";
    send: Histogram = "gauntlet_world_tell_seconds",
        "Time from handing answers and views to a teller to the last of them being sent, in seconds.";
    sent_bytes: Counter = "gauntlet_world_told_bytes_total", "Bytes of frames that movers were told.";
    claims: Counter = "gauntlet_world_claims_total", "Claims, and other hard facts, that were saved.";
    claims_lost: Counter = "gauntlet_world_claims_lost_total",
        "Claims that were not saved, or of which nobody knows: their world left memory, and nobody was told of them.";
    claim_wait: Histogram = "gauntlet_world_claim_wait_seconds",
        "Time from handing claims to the store to its word on them, in seconds.";
    snapshot: Histogram = "gauntlet_world_snapshot_seconds", "Time that a writer took to write a portion of a snapshot, in seconds.";
    snapshot_bytes: Counter = "gauntlet_world_snapshot_bytes_total", "Bytes of snapshots.";
    snapshots_lost: Counter = "gauntlet_world_snapshots_lost_total", "Snapshots that were not kept, and were made again later.";
    actors: Gauge = "gauntlet_world_actors", "Actors of this process that worlds have let in.";
    actors_planned: Gauge = "gauntlet_world_actors_planned", "Actors of this process that are wanted.";
    actors_moving: Gauge = "gauntlet_world_actors_moving", "Actors of this process whose first move was answered.";
    actor_moves: Counter = "gauntlet_world_actor_moves_total", "Moves of actors that were answered.";
    actor_moves_missed: Counter = "gauntlet_world_actor_missed_total",
        "Moves of actors that fell out, because the one before was not answered yet or the timer came a whole period late.";
    actor_move: Histogram = "gauntlet_world_actor_move_seconds",
        "Time of an actor's move from the moment for which it was intended to its answer, in seconds.";
}
