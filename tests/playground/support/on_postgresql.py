"""Which tests `make test` runs on SQLite alone, although they can run on both kinds of databases.

They are about what stories do, and send PostgreSQL nothing that is not also sent by the tests of other files, or by
those named here: the ones with statements of their own, or with several who write at once. `make soak` runs all of them
on both.
"""

from __future__ import annotations

import os

import pytest

__all__ = ["ALSO_ON_POSTGRESQL", "is_left_to_soak"]

ALSO_ON_POSTGRESQL: dict[str, frozenset[str]] = {
    "accounts/test_known_browsers.py": frozenset({
        "test_the_cookie_is_a_secret_that_scripts_and_other_sites_do_not_get",
        "test_wrong_tries_of_a_known_browser_are_limited_too_and_count_for_it_alone",
    }),
    "accounts/test_signing_in.py": frozenset({
        "test_counts_are_removed_when_their_time_is_over",
        "test_nobody_learns_who_has_an_account",
        "test_tries_at_the_same_moment_are_all_counted",
        "test_who_signs_in_to_an_account_of_their_own_does_not_get_more_tries_at_others",
    }),
    "artifacts/requirements/test_beside_the_reply.py": frozenset({
        "test_g9_a_note_is_labelled_where_the_provider_knows_none_and_goes_no_further_up",
    }),
    "artifacts/requirements/test_hiding.py": frozenset({
        "test_pitfall_04_what_goes_wrong_in_a_step_is_told_and_kept",
    }),
    "artifacts/requirements/test_retention.py": frozenset({
        "test_r39_g15_every_version_is_kept_or_archived_exactly_once",
    }),
    "artifacts/requirements/test_runs.py": frozenset({
        "test_pitfall_13_chance_is_the_same_when_a_run_is_taken_up_again",
        "test_pitfall_13_what_looks_like_a_template_in_what_people_say_is_only_told",
    }),
    "artifacts/requirements/test_state.py": frozenset({
        "test_r34_a_state_step_reads_the_talk_its_value_its_history_and_others_and_knows_its_base",
    }),
    "artifacts/test_path.py": frozenset({
        "test_the_view_is_what_the_library_reads_along_the_path",
    }),
    "artifacts/test_replay.py": frozenset({
        "test_state_at_any_message_equals_a_replay",
    }),
    "chatfiles/test_round_trip.py": frozenset({
        "test_a_conversation_that_goes_out_comes_in_as_what_it_was",
        "test_injections_of_a_file_come_in_and_those_of_a_conversation_go_out",
        "test_what_was_changed_here_is_in_the_file",
    }),
    "forking/test_forking.py": frozenset({
        "test_ten_thousand_messages_take_as_many_statements_as_ten",
        "test_the_state_settings_and_books_come_along",
    }),
    "messages/test_changing.py": frozenset({
        "test_an_edit_is_a_new_text_and_a_new_revision",
        "test_an_edit_whose_answer_was_lost_may_be_sent_again",
        "test_of_ten_tabs_that_edit_at_once_one_wins_and_nine_are_told",
    }),
    "messages/test_swipes.py": frozenset({
        "test_many_at_once_get_places_of_their_own",
        "test_the_others_close_up_behind_a_version_that_goes",
    }),
    "migration/test_characters.py": frozenset({
        "test_a_card_is_linked_with_the_book_of_its_own_source",
        "test_sprites_become_emotions_of_everybody_of_that_name",
        "test_v06_a_missing_book_stays_named_and_is_linked_when_it_comes",
        "test_v17_a_changed_card_becomes_a_version_and_an_unchanged_one_stays",
    }),
    "migration/test_chats.py": frozenset({
        "test_a_header_names_book_persona_note_overrides_variables_and_injections",
        "test_a_resumed_import_finds_the_space_of_a_character_again",
        "test_v08_pictures_of_the_folder_are_shown_and_named_again",
    }),
    "migration/test_core_importing.py": frozenset({
        "test_a_discarded_import_ends_and_what_was_imported_stays",
        "test_a_paused_import_stops_and_goes_on_from_there",
        "test_a_worker_that_has_lost_its_job_writes_nothing",
        "test_an_import_whose_folder_is_gone_fails_and_goes_on_when_it_is_back",
        "test_two_imports_of_one_person_at_once_double_nothing",
        "test_v02_every_accepted_file_is_kept_with_its_path_time_and_hash",
        "test_v17_a_book_that_is_here_already_is_not_imported_once_more",
        "test_v17_a_choice_for_one_file_overrides_the_choice_for_all",
        "test_v17_importing_again_changes_nothing",
        "test_v21_the_report_lists_every_file_and_a_refused_one_leaves_no_rows",
        "test_what_an_import_itself_changes_does_not_count_as_changed_here",
    }),
    "migration/test_core_kept.py": frozenset({
        "test_unused_bytes_are_removed_after_a_day_and_others_stay",
    }),
    "migration/test_core_scanning.py": frozenset({
        "test_a_scan_goes_on_behind_every_step",
        "test_chats_are_put_into_trees_and_ranked_behind_their_parents",
        "test_v01_a_scan_writes_nothing_and_shows_what_there_is",
    }),
    "migration/test_groups.py": frozenset({
        "test_a_group_that_was_changed_here_is_written_with_the_changes",
        "test_v06_a_member_comes_back_when_its_card_is_imported",
        "test_v17_a_group_that_has_changed_in_the_folder_changes_here",
    }),
    "migration/test_in_step.py": frozenset({
        "test_v17_swipes_that_are_new_in_the_file_are_added",
        "test_v17_where_nothing_was_changed_here_the_file_counts",
        "test_v17_who_has_chosen_a_side_gets_it",
    }),
    "migration/test_lorebooks.py": frozenset({
        "test_v17_a_changed_book_is_replaced_and_stays_where_it_is_used",
    }),
    "migration/test_presets.py": frozenset({
        "test_the_folder_says_of_which_kind_a_preset_is",
    }),
    "migration/test_settings.py": frozenset({
        "test_books_are_used_in_all_stories_and_with_characters",
        "test_new_spaces_begin_with_the_settings",
        "test_quick_replies_are_used_where_the_settings_use_them",
        "test_tags_are_the_owners_and_the_card_stays_as_it_is",
    }),
    "models_api/test_completing.py": frozenset({
        "test_a_deleted_conversation_is_an_error",
        "test_a_program_whose_key_is_revoked_is_sent_nothing_more_and_the_run_is_stopped",
        "test_pieces_that_were_lost_are_made_up_for",
    }),
    "models_api/test_endings.py": frozenset({
        "test_an_assistant_message_at_the_end_is_continued_and_only_what_is_new_is_answered",
    }),
    "models_api/test_placing.py": frozenset({
        "test_for_who_may_not_speak_no_conversation_is_begun",
        "test_hidden_messages_were_never_said",
        "test_what_is_put_aside_or_private_or_a_checkpoint_is_not_gone_on_with",
    }),
    "paths/test_snapshots.py": frozenset({
        "test_a_story_that_came_in_one_piece_gets_its_snapshots_at_once",
    }),
    "pipelines/test_adding.py": frozenset({
        "test_of_two_clicks_at_once_one_adds",
        "test_what_was_changed_since_it_was_read_is_not_added_to",
    }),
    "pipelines/test_dry_run.py": frozenset({
        "test_a_required_step_that_fails_is_told_with_its_reason",
    }),
    "pipelines/test_manual.py": frozenset({
        "test_pitfall_14_a_request_that_comes_again_is_answered_with_the_first_report",
        "test_r38_what_is_not_taken_up_any_more_is_forgotten",
        "test_reports_are_listed_the_newest_first_and_quote_nothing",
        "test_strangers_are_told_of_nothing_and_watchers_start_nothing",
        "test_they_give_way_to_a_reply_that_begins_meanwhile",
        "test_they_run_once_and_what_they_write_belongs_to_what_is_seen_last",
    }),
    "pipelines/test_profiles.py": frozenset({
        "test_a_renamed_pipeline_is_saved_and_its_tags_are_handed_over",
        "test_an_edit_adds_a_version_and_a_stale_one_is_refused",
        "test_names_are_ones_own_and_lists_come_in_pages",
        "test_one_that_cannot_be_used_any_more_is_told_mended_and_left_again",
        "test_the_nearest_choice_counts",
        "test_where_nobody_by_name_speaks_other_conversations_decide_nothing",
    }),
    "pipelines/test_running.py": frozenset({
        "test_a_bar_in_the_panel_goes_as_far_as_the_schema_of_its_step",
        "test_a_tag_of_another_profile_fails_its_step_and_the_reply_goes_on",
        "test_an_answer_that_nobody_waited_for_counts_as_far_as_it_had_come",
        "test_pages_are_told_what_goes_on_without_what_they_must_not_see",
        "test_telling_a_reply_anew_does_not_tick_twice_and_swiping_back_is_going_back",
    }),
    "prompting/test_api.py": frozenset({
        "test_a_preview_is_for_who_was_named_or_who_would_speak",
        "test_a_preview_says_what_is_missing",
        "test_prompts_are_for_members",
    }),
    "prompting/test_building.py": frozenset({
        "test_a_note_with_an_interval_counts_all_messages_of_people",
        "test_each_kind_of_provider_gets_its_own_form",
        "test_in_a_group_everybody_is_told_by_name_and_cards_are_joined_as_the_space_says",
        "test_settings_count_more_than_the_preset_and_the_preset_more_than_the_provider",
        "test_the_number_of_statements_does_not_grow_with_the_chat",
        "test_the_only_message_can_be_told_anew",
    }),
    "prompting/test_explanations.py": frozenset({
        "test_a_prompt_that_an_earlier_version_has_kept_opens_and_is_told_by_its_blocks",
        "test_the_sources_of_a_prompt_that_was_sent_are_read_back",
    }),
    "prompting/test_injections.py": frozenset({
        "test_an_ephemeral_injection_goes_into_one_prompt",
    }),
    "prompting/test_records.py": frozenset({
        "test_strangers_do_not_see_prompts",
    }),
    "prompting/test_replies.py": frozenset({
        "test_a_reply_ends_where_somebody_else_begins_to_speak",
        "test_what_a_reply_used_is_counted_everywhere",
        "test_who_is_spoken_for_has_said_it",
    }),
    "providers/test_trying.py": frozenset({
        "test_a_provider_that_answers",
    }),
    "runs/test_asking.py": frozenset({
        "test_a_message_for_one_of_them_is_answered_by_that_one_alone",
        "test_words_that_are_written_for_a_person_are_theirs_and_are_answered",
        "test_words_that_come_late_leave_the_round_alone_that_has_begun_meanwhile",
    }),
    "runs/test_automation.py": frozenset({
        "test_switching_the_setting_off_stops_characters_behind_the_reply_that_is_written",
        "test_the_two_are_never_on_together",
    }),
    "runs/test_deciding.py": frozenset({
        "test_text_that_is_kept_takes_no_turn_that_was_given_to_somebody_else_meanwhile",
    }),
    "runs/test_directing.py": frozenset({
        "test_where_no_round_goes_on_there_is_nothing_to_direct",
    }),
    "runs/test_policies.py": frozenset({
        "test_messages_shortly_after_each_other_are_answered_by_one_reply",
    }),
    "runs/test_regenerating.py": frozenset({
        "test_a_last_turn_that_a_branch_begins_in_is_told_anew_in_a_branch",
        "test_the_whole_last_turn_is_put_away_and_told_by_a_new_round",
    }),
    "runs/test_repair.py": frozenset({
        "test_a_round_goes_on_behind_a_reply_that_is_there_without_asking_for_it_again",
        "test_a_round_whose_worker_is_gone_is_frozen_and_what_comes_too_late_is_nothing",
        "test_a_turn_whose_run_is_lost_is_taken_again_and_a_worker_sees_to_it",
    }),
    "runs/test_rounds.py": frozenset({
        "test_where_nobody_can_speak_a_message_is_kept_and_no_round_begins",
    }),
    "runs/test_speakers.py": frozenset({
        "test_nobody_answers_themselves_unless_a_person_has_spoken_or_the_space_allows_it",
    }),
    "runs/test_unavailable.py": frozenset({
        "test_a_character_that_is_deleted_in_its_turn_is_passed_over_and_what_it_said_stays",
        "test_a_worker_that_finds_a_speaker_gone_takes_the_next_one",
        "test_who_was_asked_in_person_speaks_though_muted_but_not_though_removed",
    }),
}  # fmt: skip
"""By file: the tests of it that run on PostgreSQL too."""


def is_left_to_soak(item: pytest.Item) -> bool:
    """Whether this is the run on PostgreSQL of such a test."""
    if "TAVERNKIT_EVERY_DATABASE" in os.environ or not isinstance(item, pytest.Function):
        return False
    named = ALSO_ON_POSTGRESQL.get(item.nodeid.partition("::")[0].removeprefix("tests/playground/"))
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return named is not None and "postgresql" in chosen and item.originalname not in named
