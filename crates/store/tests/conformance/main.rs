//! The contract of a store, property by property, for both stores; and random commands whose outcomes and reads must be
//! the same in both.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

mod accounts;
mod activity;
mod admins;
mod audit;
mod bans;
mod bot_health;
mod checksums;
mod claims;
mod codes;
mod competitions;
mod creation;
mod deletions;
mod faults;
mod fixtures;
mod games;
mod hunts;
mod ladders;
mod life;
mod limit_rules;
mod logs;
mod model;
mod nodes;
mod plans;
mod ranking_plans;
mod reads;
mod retire;
mod stats;
mod stories;
mod story_model;
mod tables;
mod unreadable_rows;
mod world_fixtures;
mod worlds;

use store::sqlite::SqliteDatabase;
use store::testing::{PostgresCluster, TempDir};

/// One test for every law and store.
macro_rules! laws {
    ($($theme:ident { $($law:ident)* })*) => {
        mod sqlite { $(mod $theme { $(#[test] fn $law() {
            let dir = crate::TempDir::new();
            crate::$theme::$law(&crate::SqliteDatabase::new(dir.path().join("store.db")));
        })* })* }
        mod postgres { $(pub(crate) mod $theme { $(#[test] pub(crate) fn $law() {
            // Once in a process: `plans` needs all of them, and waits for one that another thread runs.
            static RUN: std::sync::Once = std::sync::Once::new();
            RUN.call_once(|| crate::$theme::$law(&crate::PostgresCluster::shared().new_database()));
        })* })* }
        /// All of them, one after the other, but for those that this process has run before.
        fn all_laws_of_postgres() {
            $($(postgres::$theme::$law();)*)*
        }
    };
}

laws! {
    accounts {
        an_account_is_made_once
        tokens_are_found_by_digest_only
        tokens_are_bounded
        bots_have_one_name_each
        bots_belong_to_their_account
        accounts_are_listed_by_their_names
        bots_are_bounded
        bots_come_with_their_owners
        public_bots_of_all_accounts_are_listed
        uses_of_tokens_only_go_forward
    }
    admins {
        the_last_admin_stays
        an_admin_by_a_session_is_kept
        of_two_admins_who_remove_each_other_one_stays
        a_held_name_is_taken_in_no_moment
    }
    audit {
        entries_are_read_back_as_they_were_written
        entries_are_filtered_and_read_in_pages
        a_change_and_its_entry_are_one_commit
        entries_are_retired_oldest_first
    }
    bans {
        every_form_of_a_target_is_read_back
        a_target_is_banned_once_at_a_time
        bans_are_read_in_pages
        waiting_matches_of_an_account_are_listed
        bans_expire_and_are_bounded
    }
    codes {
        an_invitation_makes_one_account
        a_sign_in_link_opens_one_session
        codes_expire
        invitations_are_listed_and_withdrawn
        codes_are_bounded
        a_session_makes_room_for_the_next
        signing_out_ends_sessions_only
        deleting_a_token_ends_the_links_of_its_account
        what_has_expired_is_deleted_in_portions
        of_two_redeemers_one_wins
        a_name_is_taken_once
    }
    deletions {
        a_deleted_account_has_no_holder
        a_name_stays_with_a_ban
        what_an_account_has_is_counted
        a_deleted_account_is_cleared_in_portions
        names_are_taken_out_in_pages
        nothing_of_a_deleted_account_is_requeued
    }
    creation {
        a_match_is_read_back_as_it_was_created
        a_seat_keeps_the_account_of_its_bot
        creation_is_all_or_none
        a_key_repeats_its_answer
        a_key_is_forgotten_in_time
        an_account_has_limited_matches_waiting
        a_thousand_matches_are_one_command
    }
    claims {
        a_late_comer_waits_for_a_fair_share_only
        accounts_at_their_threshold_are_passed_over
        orphans_need_no_share
        an_account_keeps_its_own_order
        being_requeued_is_being_last
        leases_hold_until_they_end
        a_worker_without_lease_claims_nothing
        a_claim_raises_the_epoch
        orphans_go_first_and_oldest_first
        a_living_workers_matches_are_left_alone
        a_lease_given_up_frees_its_matches
        all_leases_end_at_once_where_the_database_is_ours_alone
        a_claim_that_takes_nothing_is_not_remembered
        attempts_without_progress_add_up
        progress_clears_the_attempts
        an_orphan_out_of_attempts_is_failed_and_not_counted
        a_refund_gives_the_attempt_back_once
        a_repeated_claim_takes_nothing_new
        the_node_that_held_a_match_last_is_remembered
    }
    logs {
        entries_are_read_back
        a_writer_of_the_past_is_fenced
        the_expected_version_is_checked
        entries_with_gaps_are_refused
        a_start_is_remembered_once
        finishing_archives_the_log
        a_finished_match_has_its_result
        finishing_is_fenced_and_versioned
        an_archive_may_come_compressed_or_not
        a_log_without_entries_finishes
        large_entries_are_kept
    }
    life {
        every_event_in_every_state
        cancelling_fences_the_writer
        only_the_owner_cancels
        a_failed_match_is_requeued_with_its_log
        reasons_are_kept_short_and_printable
        a_refusal_affects_no_other_command_of_its_batch
        later_commands_see_earlier_ones
    }
    reads {
        lists_are_newest_first_and_paged
        lists_are_filtered_by_account_and_bot
        lists_are_filtered_by_outcome
        public_matches_are_listed_while_they_run_and_when_they_have_ended
        statuses_come_in_the_requested_order
        a_log_is_paged
        addresses_are_those_of_living_leases
        leases_of_one_address_are_found
        a_probe_leaves_nothing
        the_clock_of_the_database_goes_forward
    }
    activity {
        public_matches_are_counted
        stories_and_their_free_seats_are_counted
    }
    nodes {
        nodes_are_listed_with_what_they_hold
    }
    stats {
        a_new_store_says_who_made_it
        counters_follow_every_life
        windows_hold_what_is_recent
        durations_are_of_finished_matches
        failures_are_grouped
        orphans_are_counted
    }
    limit_rules {
        a_policy_is_set_and_changed_and_forgotten
        a_quota_of_a_key_is_kept_to_the_bit
        forgetting_a_policy_forgets_its_quotas
        every_change_is_a_new_version
        policies_are_bounded
    }
    tables {
        a_table_is_opened_once
        a_table_may_begin_without_base_or_entries
        an_owner_of_the_past_is_fenced
        a_tables_version_is_checked
        a_base_forgets_what_is_under_it
        a_table_is_claimed_when_it_is_free
        claims_name_the_owner
        a_released_table_is_free
        live_tables_without_an_owner_are_taken_over_together
        a_repeated_claim_of_tables_takes_nothing_new
        an_opening_repeats_its_answer
        a_key_of_an_opening_is_forgotten_in_time
        refused_writes_disturb_no_neighbour
    }
    games {
        a_game_is_read_back_as_it_was_written
        the_lobby_has_free_seats
        players_find_their_own_games
        an_end_appears_in_every_list
        the_history_goes_by_ends
        games_of_one_table_follow_each_other
        awards_add_up
        the_oldest_game_is_forgotten_first
        unused_tables_are_deleted
        a_live_game_is_never_forgotten
        a_secret_is_kept_once
    }
    worlds {
        a_world_is_made_once
        a_creator_has_so_many_worlds
        a_world_ends_early_and_its_owner_is_fenced
        worlds_without_players_are_ended
        so_many_ended_worlds_are_kept
        a_world_is_claimed_when_it_is_free
        claims_are_fenced_and_versioned
        a_snapshot_stays_between_the_one_before_and_the_end
        entries_are_kept_while_needed
        players_join_while_there_is_room
        only_those_matched_are_in_a_match
        worlds_are_listed_by_id
        the_lobby_has_hunts_that_are_not_over
        those_matched_are_found_by_their_tickets
        hunts_that_are_over_are_unfinished_until_their_owner_ends_them
        worlds_are_forgotten_when_they_are_over_and_counted
    }
    hunts {
        entries_are_counted_once
        hunters_add_up
        the_leaderboard_goes_by_points
        rounds_are_kept
        totals_add_up
        what_is_not_counted_is_found
    }
    bot_health {
        health_is_written_by_one_at_a_time
        due_bots_are_found_and_moved_ones_are_due
        calls_are_replaced_by_their_process_and_retired
        the_last_looks_of_bots_are_kept
        a_signing_secret_is_rotated_and_never_comes_back
        a_claim_says_whose_calls_are_signed
    }
    competitions {
        a_competition_is_made_once
        a_key_makes_one_competition
        an_account_has_so_many_live_competitions
        matches_are_added_to_a_running_competition_once
        an_advance_is_all_or_nothing
        results_are_numbered_in_the_order_of_their_ends
        every_way_to_end_is_a_result
        matches_of_a_competition_are_listed
        competitions_with_something_to_do_are_found
        a_job_has_one_leader
        ended_competitions_go_with_all_that_is_theirs
        what_is_due_later_is_counted
        matches_of_bots_that_were_deleted_are_found
    }
    ladders {
        a_bot_enters_once
        public_ladders_and_their_recent_matches_are_counted
        only_own_public_bots_enter
        invitations_open_a_ladder
        bots_that_are_gone_or_private_leave
        results_are_rated_once
        rankings_are_paged
        a_season_that_ends_is_kept
        a_repair_writes_what_was_recomputed
        results_and_ratings_outlive_their_matches
        entries_of_an_account_are_bounded
        results_are_recorded_without_matches
    }
    checksums {
        what_is_whole_has_its_checksum
        every_kind_of_damage_is_found_and_stays_confined
        lists_do_without_what_is_damaged
        a_damaged_table_is_in_no_others_way
        worlds_that_cannot_be_read_break_no_list
        what_a_program_of_before_writes_anew_is_not_taken_for_damaged
    }
    unreadable_rows {
        a_row_that_cannot_be_read_is_left_out_of_lists
        a_ban_holds_without_what_is_damaged
        damaged_bots_of_a_deleted_account_are_deleted
        damage_is_counted_once
        a_page_of_damaged_rows_is_not_the_last
        a_damaged_match_is_in_no_others_way
        a_damaged_match_is_refused_to_its_writer_alone
        an_entry_is_rated_on_without_what_is_damaged
        a_damaged_standing_is_in_no_others_way
        a_hunt_whose_log_is_damaged_goes_when_its_time_is_over
    }
    retire {
        the_oldest_end_goes_first
        archives_are_kept_below_their_size
        a_call_is_bounded
        guests_are_forgotten_and_accounts_are_not
        the_oldest_that_is_kept_is_known
        what_is_young_or_live_stays_and_all_that_is_old_goes
        nothing_of_a_retired_match_is_left
        what_lives_is_never_retired
        workers_of_the_past_are_forgotten
        a_lease_without_an_end_holds_until_it_is_ended_and_is_forgotten_then
    }
}
