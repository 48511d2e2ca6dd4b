"""Which room reads each setting. One that nobody reads would be a switch without a wire; a test looks for them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LATER", "READ_BY"]

READ_BY: Mapping[str, str] = {
    "model.provider_id": "tavernkit.playground.providers.service:provider_for",
    "space.card_handling_mode": "tavernkit.playground.prompting.cast:load_cast",
    "space.relax_message_trim": "tavernkit.playground.prompting.presets:chosen_preset",
    "model.preset_id": "tavernkit.playground.prompting.presets:load_presets",
    "model.instruct_id": "tavernkit.playground.prompting.presets:load_presets",
    "model.context_id": "tavernkit.playground.prompting.presets:load_presets",
    "model.system_prompt_id": "tavernkit.playground.prompting.presets:load_presets",
    "model.reasoning_id": "tavernkit.playground.prompting.presets:load_presets",
    "llm.context_tokens": "tavernkit.playground.prompting.presets:chosen_preset",
    "llm.max_tokens": "tavernkit.playground.prompting.presets:chosen_preset",
    "llm.stop": "tavernkit.playground.prompting.presets:chosen_preset",
    "llm.temperature": "tavernkit.playground.prompting.requests:model_request",
    "llm.top_p": "tavernkit.playground.prompting.requests:model_request",
    "llm.top_k": "tavernkit.playground.prompting.requests:model_request",
    "llm.min_p": "tavernkit.playground.prompting.requests:model_request",
    "llm.top_a": "tavernkit.playground.prompting.requests:model_request",
    "llm.typical_p": "tavernkit.playground.prompting.requests:model_request",
    "llm.frequency_penalty": "tavernkit.playground.prompting.requests:model_request",
    "llm.presence_penalty": "tavernkit.playground.prompting.requests:model_request",
    "llm.repetition_penalty": "tavernkit.playground.prompting.requests:model_request",
    "llm.seed": "tavernkit.playground.prompting.requests:model_request",
    "llm.stream": "tavernkit.playground.runs.executor:Execution",
    "world_info.depth": "tavernkit.playground.prompting.story:story_of",
    "world_info.budget_percent": "tavernkit.playground.prompting.story:story_of",
    "world_info.budget_cap": "tavernkit.playground.prompting.story:story_of",
    "world_info.min_activations": "tavernkit.playground.prompting.story:story_of",
    "world_info.min_activations_depth_max": "tavernkit.playground.prompting.story:story_of",
    "world_info.include_names": "tavernkit.playground.prompting.story:story_of",
    "world_info.recursive": "tavernkit.playground.prompting.story:story_of",
    "world_info.max_recursion_steps": "tavernkit.playground.prompting.story:story_of",
    "world_info.case_sensitive": "tavernkit.playground.prompting.story:story_of",
    "world_info.match_whole_words": "tavernkit.playground.prompting.story:story_of",
    "world_info.strategy": "tavernkit.playground.prompting.story:story_of",
    "world_info.use_group_scoring": "tavernkit.playground.prompting.story:story_of",
    "authors_note.text": "tavernkit.playground.prompting.story:story_of",
    "authors_note.position": "tavernkit.playground.prompting.story:story_of",
    "authors_note.depth": "tavernkit.playground.prompting.story:story_of",
    "authors_note.role": "tavernkit.playground.prompting.story:story_of",
    "authors_note.interval": "tavernkit.playground.prompting.story:story_of",
    "authors_note.scan": "tavernkit.playground.prompting.story:story_of",
    "prompt.scenario_override": "tavernkit.playground.prompting.story:story_of",
    "prompt.examples_override": "tavernkit.playground.prompting.story:story_of",
    "prompt.system_prompt_override": "tavernkit.playground.prompting.story:story_of",
    "prompt.regex_scripts": "tavernkit.playground.prompting.story:story_of",
    "prompt.join_prefix": "tavernkit.playground.prompting.cast:load_cast",
    "prompt.join_suffix": "tavernkit.playground.prompting.cast:load_cast",
    "prompt.history_messages": "tavernkit.playground.prompting.inputs:load_inputs",
    "reasoning.effort": "tavernkit.playground.prompting.requests:model_request",
    "reasoning.auto_parse": "tavernkit.playground.prompting.presets:chosen_preset",
    "reasoning.add_to_prompts": "tavernkit.playground.prompting.presets:chosen_preset",
    "reasoning.max_additions": "tavernkit.playground.prompting.presets:chosen_preset",
}
"""Settings that are read today, and the function that does."""

LATER: Mapping[str, str] = {
    "space.reply_order": "runs: who speaks next",
    "space.allow_self_responses": "runs: who speaks next",
    "space.auto_mode_enabled": "runs: rounds without a person",
    "space.auto_mode_delay_ms": "runs: rounds without a person",
    "space.during_generation_user_input_policy": "runs: a message during a reply",
    "space.user_turn_debounce_ms": "runs: a message during a reply",
    "space.group_regenerate_mode": "runs: regenerating",
    "space.token_limit": "runs: before a reply is begun",
}
"""Settings that can be made already, and the room that will read each; a room that does moves its own up."""
