"""Which room reads each setting. One that nobody reads would be a switch without a wire; a test looks for them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LATER", "READ_BY"]

READ_BY: Mapping[str, str] = {
    "model.provider_id": "tavernkit.playground.providers.service:provider_for",
}
"""Settings that are read today, and the function that does."""

LATER: Mapping[str, str] = {
    "space.reply_order": "runs: who speaks next",
    "space.card_handling_mode": "prompting: cards of a group",
    "space.allow_self_responses": "runs: who speaks next",
    "space.auto_mode_enabled": "runs: rounds without a person",
    "space.auto_mode_delay_ms": "runs: rounds without a person",
    "space.during_generation_user_input_policy": "runs: a message during a reply",
    "space.user_turn_debounce_ms": "runs: a message during a reply",
    "space.group_regenerate_mode": "runs: regenerating",
    "space.relax_message_trim": "runs: tidying a reply up",
    "space.token_limit": "runs: before a reply is begun",
    "model.preset_id": "prompting: the preset",
    "model.instruct_id": "prompting: templates",
    "model.context_id": "prompting: templates",
    "model.system_prompt_id": "prompting: templates",
    "model.reasoning_id": "prompting: templates",
    "llm.context_tokens": "prompting: the budget",
    "llm.max_tokens": "prompting: the budget",
    "llm.temperature": "llm: the request",
    "llm.top_p": "llm: the request",
    "llm.top_k": "llm: the request",
    "llm.min_p": "llm: the request",
    "llm.top_a": "llm: the request",
    "llm.typical_p": "llm: the request",
    "llm.frequency_penalty": "llm: the request",
    "llm.presence_penalty": "llm: the request",
    "llm.repetition_penalty": "llm: the request",
    "llm.seed": "llm: the request",
    "llm.stop": "llm: the request",
    "llm.stream": "llm: the request",
    "world_info.depth": "prompting: lore",
    "world_info.budget_percent": "prompting: lore",
    "world_info.budget_cap": "prompting: lore",
    "world_info.min_activations": "prompting: lore",
    "world_info.min_activations_depth_max": "prompting: lore",
    "world_info.include_names": "prompting: lore",
    "world_info.recursive": "prompting: lore",
    "world_info.max_recursion_steps": "prompting: lore",
    "world_info.case_sensitive": "prompting: lore",
    "world_info.match_whole_words": "prompting: lore",
    "world_info.strategy": "prompting: lore",
    "world_info.use_group_scoring": "prompting: lore",
    "authors_note.text": "prompting: the note",
    "authors_note.position": "prompting: the note",
    "authors_note.depth": "prompting: the note",
    "authors_note.role": "prompting: the note",
    "authors_note.interval": "prompting: the note",
    "authors_note.scan": "prompting: the note",
    "prompt.scenario_override": "prompting: the story",
    "prompt.examples_override": "prompting: the story",
    "prompt.system_prompt_override": "prompting: the story",
    "prompt.join_prefix": "prompting: cards of a group",
    "prompt.join_suffix": "prompting: cards of a group",
    "prompt.regex_scripts": "prompting: regex scripts",
    "prompt.history_messages": "prompting: the history",
    "reasoning.effort": "llm: the request",
    "reasoning.auto_parse": "runs: tidying a reply up",
    "reasoning.add_to_prompts": "prompting: the history",
    "reasoning.max_additions": "prompting: the history",
}
"""Settings that can be made already, and the room that will read each; a room that does moves its own up."""
