"""What the prompt says beside the card and the preset."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import MAX_TEXT, GroupLook, Leaf, SettingsGroup, VisibleWhen

PlatformChoice: TypeAlias = Literal["auto", "sillytavern", "risuai"]

_JOINED = VisibleWhen(ref="space.card_handling_mode", values=("append", "append_disabled"))


class PromptGroup(SettingsGroup):
    """What stands in the prompt in place of, or around, what the cards say."""

    look: ClassVar[GroupLook] = GroupLook(label="Prompt", tab="prompts")

    platform: Annotated[
        PlatformChoice,
        Leaf(
            label="Build prompts like",
            control="select",
            layers=("space", "member", "conversation"),
            labels={"auto": "What the card was made for", "sillytavern": "SillyTavern", "risuai": "RisuAI"},
        ),
        Field(
            description="Whose macros, lore, scripts and order count. By itself, RisuAI's where the card or the preset "
            "comes from there."
        ),
    ] = "auto"
    scenario_override: Annotated[
        str | None,
        Leaf(label="Scenario", control="textarea", layers=("space", "conversation"), rows=3),
        Field(max_length=MAX_TEXT, description="In place of the scenario of the cards."),
    ] = None
    examples_override: Annotated[
        str | None,
        Leaf(label="Example messages", control="textarea", layers=("space", "conversation"), rows=3),
        Field(max_length=MAX_TEXT, description="In place of the examples of the cards."),
    ] = None
    system_prompt_override: Annotated[
        str | None,
        Leaf(label="Main prompt", control="textarea", layers=("space", "member", "conversation"), rows=4),
        Field(max_length=MAX_TEXT, description="In place of the main prompt of the card."),
    ] = None
    join_prefix: Annotated[
        str,
        Leaf(label="Before each joined card", control="textarea", layers=("space",), rows=2, visible_when=_JOINED),
        Field(max_length=10_000, description="Where cards are joined, this stands before each of their texts."),
    ] = ""
    join_suffix: Annotated[
        str,
        Leaf(label="Behind each joined card", control="textarea", layers=("space",), rows=2, visible_when=_JOINED),
        Field(max_length=10_000, description="Where cards are joined, this stands behind each of their texts."),
    ] = ""
    regex_scripts: Annotated[
        bool,
        Leaf(label="Run regex scripts", control="toggle", layers=("space", "conversation")),
        Field(description="Whether the scripts of cards and presets change prompts and replies."),
    ] = True
    history_messages: Annotated[
        int,
        Leaf(label="Messages to remember", control="number", layers=("space", "conversation"), step=10),
        Field(ge=1, le=10_000, description="How many of the newest messages a prompt is made from at most."),
    ] = 200
