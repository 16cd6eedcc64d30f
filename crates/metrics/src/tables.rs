//! Metrics of card tables: of all tables of the process together.

use super::instruments::{Counter, Gauge, Histogram};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub TableMetrics;
    loaded: Gauge = "gauntlet_tables", "Card tables in memory of this process.";
    players: Gauge = "gauntlet_table_players", "Players that are present at card tables of this process, counted once per table.";
    waiters: Gauge = "gauntlet_table_waiters", "Polls, streams and sockets that wait for updates of card tables.";
    messages: Gauge = "gauntlet_table_mailbox_messages", "Messages in the mailboxes of the owner tasks of card tables.";
    changes: Counter = "gauntlet_table_changes_total", "Changes of card tables that were saved.";
    waiters_notified: Counter = "gauntlet_table_waiters_notified_total", "Waits for updates of card tables that ended with an update.";
    wake: Histogram = "gauntlet_table_wake_seconds", "Time from the commit of a change until all its waiters were woken, in seconds.";
    loads: Counter = "gauntlet_table_loads_total", "Claims of card tables for a request, or to read the table again.";
    taken_over: Counter = "gauntlet_tables_taken_over_total", "Card tables that this process took over because they had no owner.";
    retired: Counter = "gauntlet_tables_retired_total", "Card tables that were unloaded because no player was present.";
}
