"""How lore is looked for."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import GroupLook, Leaf, SettingsGroup, VisibleWhen


class WorldInfoGroup(SettingsGroup):
    """How lore is found in the chat, as a fresh SillyTavern does it."""

    look: ClassVar[GroupLook] = GroupLook(label="World Info", tab="prompts")

    depth: Annotated[
        int,
        Leaf(label="Messages to scan", control="number", layers=("space", "conversation"), step=1),
        Field(ge=0, le=1000, description="How many of the newest messages are searched for keys."),
    ] = 2
    budget_percent: Annotated[
        float,
        Leaf(label="Share of the context (%)", control="slider", layers=("space", "conversation"), step=1),
        Field(ge=0, le=100, description="How much of the context lore may take."),
    ] = 25
    budget_cap: Annotated[
        int,
        Leaf(label="Most tokens", control="number", layers=("space", "conversation"), step=64),
        Field(ge=0, le=2_000_000, description="How many tokens lore may take at most; 0 is no limit."),
    ] = 0
    min_activations: Annotated[
        int,
        Leaf(label="Least activations", control="number", layers=("space", "conversation"), step=1),
        Field(ge=0, le=1000, description="Older messages are searched until so many entries are found."),
    ] = 0
    min_activations_depth_max: Annotated[
        int,
        Leaf(
            label="Search back at most",
            control="number",
            layers=("space", "conversation"),
            step=1,
        ),
        Field(ge=0, le=1000, description="How far back that search goes; 0 is to the beginning."),
    ] = 0
    include_names: Annotated[
        bool,
        Leaf(label="Scan names too", control="toggle", layers=("space", "conversation")),
        Field(description="Whether the name before a message counts as part of it."),
    ] = True
    recursive: Annotated[
        bool,
        Leaf(label="Entries find entries", control="toggle", layers=("space", "conversation")),
        Field(description="Whether the text of an entry is searched for keys of others."),
    ] = True
    max_recursion_steps: Annotated[
        int,
        Leaf(
            label="Most steps",
            control="number",
            layers=("space", "conversation"),
            step=1,
            visible_when=VisibleWhen(ref="world_info.recursive", values=(True,)),
        ),
        Field(ge=0, le=10, description="How often entries may find entries; 0 is without end."),
    ] = 0
    case_sensitive: Annotated[
        bool,
        Leaf(label="Upper and lower case differ", control="toggle", layers=("space", "conversation")),
        Field(description="For entries that do not say it themselves."),
    ] = False
    match_whole_words: Annotated[
        bool,
        Leaf(label="Whole words only", control="toggle", layers=("space", "conversation")),
        Field(description="For entries that do not say it themselves."),
    ] = True
    strategy: Annotated[
        Literal["evenly", "character_first", "global_first"],
        Leaf(
            label="Order of books",
            control="select",
            layers=("space", "conversation"),
            labels={
                "evenly": "All together",
                "character_first": "The character's first",
                "global_first": "The space's first",
            },
        ),
        Field(description="Whose entries come first in the prompt."),
    ] = "character_first"
    use_group_scoring: Annotated[
        bool,
        Leaf(label="Best match wins a group", control="toggle", layers=("space", "conversation")),
        Field(description="Within a group of entries, the one with most keys found is taken."),
    ] = False
