"""How a space takes turns."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import GroupLook, Leaf, SettingsGroup, VisibleWhen

_GROUP = VisibleWhen(context="is_group", values=(True,))


class SpaceGroup(SettingsGroup):
    """Who speaks when, and what happens meanwhile."""

    look: ClassVar[GroupLook] = GroupLook(label="Replies", tab="basic")

    reply_order: Annotated[
        Literal["manual", "natural", "list", "pooled"],
        Leaf(
            label="Who answers",
            control="select",
            layers=("space",),
            columns={"space": "reply_order"},
            labels={
                "manual": "Whoever I ask",
                "natural": "Whoever would",
                "list": "Everybody in order",
                "pooled": "Each once, then again",
            },
            visible_when=_GROUP,
            quick=True,
        ),
        Field(description="How the next speakers are chosen when there are several characters."),
    ] = "natural"
    card_handling_mode: Annotated[
        Literal["swap", "append", "append_disabled"],
        Leaf(
            label="Cards in the prompt",
            control="select",
            layers=("space",),
            columns={"space": "card_handling_mode"},
            labels={
                "swap": "Only the speaker's",
                "append": "All, without muted members",
                "append_disabled": "All, with muted members",
            },
            visible_when=_GROUP,
        ),
        Field(description="Whether the prompt tells of the speaker alone, or of all characters."),
    ] = "swap"
    allow_self_responses: Annotated[
        bool,
        Leaf(
            label="A character may answer itself",
            control="toggle",
            layers=("space",),
            columns={"space": "allow_self_responses"},
            visible_when=_GROUP,
        ),
        Field(description="Whether who has just spoken can be chosen again."),
    ] = False
    auto_mode_enabled: Annotated[
        bool,
        Leaf(
            label="Characters go on by themselves",
            control="toggle",
            layers=("space",),
            columns={"space": "auto_mode_enabled"},
            visible_when=_GROUP,
            quick=True,
        ),
        Field(description="Whether characters answer each other without waiting for a person."),
    ] = False
    auto_mode_delay_ms: Annotated[
        int,
        Leaf(
            label="Pause between automatic replies (ms)",
            control="number",
            layers=("space",),
            columns={"space": "auto_mode_delay_ms"},
            step=500,
        ),
        Field(
            ge=0, le=600_000, description="How long a character or the copilot waits before it continues without you."
        ),
    ] = 5000
    during_generation_user_input_policy: Annotated[
        Literal["reject", "queue", "restart"],
        Leaf(
            label="A message during a reply",
            control="select",
            layers=("space",),
            columns={"space": "during_generation_user_input_policy"},
            labels={"reject": "has to wait", "queue": "is answered next", "restart": "starts the reply anew"},
        ),
        Field(description="What happens to a message that is sent while a reply is being written."),
    ] = "reject"
    user_turn_debounce_ms: Annotated[
        int,
        Leaf(
            label="Wait for further messages (ms)",
            control="number",
            layers=("space",),
            columns={"space": "user_turn_debounce_ms"},
            step=100,
        ),
        Field(ge=0, le=60_000, description="Messages within this time are answered together."),
    ] = 0
    group_regenerate_mode: Annotated[
        Literal["single_message", "last_turn"],
        Leaf(
            label="Regenerate",
            control="select",
            layers=("space",),
            columns={"space": "group_regenerate_mode"},
            labels={"single_message": "the last message", "last_turn": "everything since my last message"},
            visible_when=_GROUP,
        ),
        Field(description="How much is told anew in a group."),
    ] = "single_message"
    relax_message_trim: Annotated[
        bool,
        Leaf(
            label="Let a reply speak for others",
            control="toggle",
            layers=("space",),
            columns={"space": "relax_message_trim"},
            visible_when=_GROUP,
        ),
        Field(description="Otherwise a reply ends where another character begins to speak in it."),
    ] = False
    token_limit: Annotated[
        int,
        Leaf(
            label="Tokens this space may use",
            control="number",
            layers=("space",),
            columns={"space": "token_limit"},
            step=10_000,
        ),
        Field(ge=0, le=10**12, description="No reply is begun beyond it; 0 is no limit."),
    ] = 0
