"""The circumstances of a chat in SillyTavern's terms, out of the settings and whoever takes part."""

from __future__ import annotations

from datetime import UTC

from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.presets import ChosenPreset
from tavernkit.playground.story.prompting.state import timers_in
from tavernkit.playground.story.settings_schema.groups.authors_note import AuthorsNoteGroup
from tavernkit.playground.story.settings_schema.groups.world_info import WorldInfoGroup
from tavernkit.sillytavern import AuthorsNote, Story
from tavernkit.sillytavern.regex_scripts import RegexScripts, embedded_scripts
from tavernkit.sillytavern.world_info import InsertionStrategy
from tavernkit.sillytavern.world_info import WorldInfoSettings as LibraryWorldInfo

_STRATEGIES = {
    "evenly": InsertionStrategy.EVENLY,
    "character_first": InsertionStrategy.CHARACTER_FIRST,
    "global_first": InsertionStrategy.GLOBAL_FIRST,
}


def story_of(inputs: PromptInputs, chosen: ChosenPreset) -> Story:
    """Everything about the chat beside the character, the person, the history and the preset."""
    cast, books, prompt = inputs.cast, inputs.books, inputs.settings.prompt
    return Story(
        settings=chosen.settings,
        world_info=_world_info(inputs.settings.world_info),
        persona=cast.persona,
        note=_note(inputs.settings.authors_note),
        group=cast.group,
        speaker=None if cast.group is None else cast.avatar,
        character_books=books.character,
        chat_books=books.chat,
        persona_books=books.persona,
        timed=timers_in(inputs.state),
        regex_scripts=_scripts(inputs, chosen) if prompt.regex_scripts else RegexScripts(),
        scenario=prompt.scenario_override or "",
        examples=prompt.examples_override or "",
        system_prompt=prompt.system_prompt_override or "",
        character_tags=cast.character.tags,
        chat_id=str(inputs.chat_id),
        zone=inputs.now.tzinfo or UTC,
    )


def _scripts(inputs: PromptInputs, chosen: ChosenPreset) -> RegexScripts:
    return RegexScripts(
        preset=embedded_scripts(chosen.preset.extensions), scoped=embedded_scripts(inputs.cast.character.extensions)
    )


def _world_info(settings: WorldInfoGroup) -> LibraryWorldInfo:
    return LibraryWorldInfo(
        depth=settings.depth,
        min_activations=settings.min_activations,
        min_activations_depth_max=settings.min_activations_depth_max,
        budget_percent=settings.budget_percent,
        budget_cap=settings.budget_cap,
        include_names=settings.include_names,
        recursive=settings.recursive,
        max_recursion_steps=settings.max_recursion_steps,
        case_sensitive=settings.case_sensitive,
        match_whole_words=settings.match_whole_words,
        strategy=_STRATEGIES[settings.strategy],
        use_group_scoring=settings.use_group_scoring,
    )


def _note(settings: AuthorsNoteGroup) -> AuthorsNote:
    return AuthorsNote(
        text=settings.text,
        position=settings.position,
        depth=settings.depth,
        role=settings.role,
        interval=settings.interval,
        scan=settings.scan,
    )
