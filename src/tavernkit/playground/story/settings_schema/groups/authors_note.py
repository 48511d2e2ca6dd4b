"""The note that accompanies the story."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import MAX_TEXT, GroupLook, Leaf, SettingsGroup, VisibleWhen

_IN_CHAT = VisibleWhen(ref="authors_note.position", values=("chat",))


class AuthorsNoteGroup(SettingsGroup):
    """A note that is put into the prompt again and again."""

    look: ClassVar[GroupLook] = GroupLook(label="Author's note", tab="authors_note")

    text: Annotated[
        str,
        Leaf(label="Note", control="textarea", layers=("space", "conversation"), rows=4),
        Field(max_length=MAX_TEXT, description="What the model is reminded of."),
    ] = ""
    position: Annotated[
        Literal["none", "before", "after", "chat"],
        Leaf(
            label="Place",
            control="select",
            layers=("space", "conversation"),
            labels={
                "none": "Nowhere",
                "before": "Before the main prompt",
                "after": "Behind the main prompt",
                "chat": "In the chat",
            },
        ),
        Field(description="Where the note stands."),
    ] = "chat"
    depth: Annotated[
        int,
        Leaf(
            label="Messages behind it",
            control="number",
            layers=("space", "conversation"),
            step=1,
            visible_when=_IN_CHAT,
        ),
        Field(ge=0, le=10_000, description="How many messages stand behind the note; 0 is at the end."),
    ] = 4
    role: Annotated[
        Literal["system", "user", "assistant"],
        Leaf(
            label="Told by",
            control="select",
            layers=("space", "conversation"),
            labels={"system": "The system", "user": "The user", "assistant": "The character"},
            visible_when=_IN_CHAT,
        ),
        Field(description="Whose words the note is."),
    ] = "system"
    interval: Annotated[
        int,
        Leaf(label="Every so many messages", control="number", layers=("space", "conversation"), step=1),
        Field(ge=0, le=10_000, description="Counts messages of people; 0 is never."),
    ] = 1
    scan: Annotated[
        bool,
        Leaf(label="Search it for lore", control="toggle", layers=("space", "conversation")),
        Field(description="Whether keys of World Info are looked for in the note."),
    ] = False
