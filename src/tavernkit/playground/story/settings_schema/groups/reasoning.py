"""What becomes of a model's thoughts."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import GroupLook, Leaf, SettingsGroup, VisibleWhen, shown_by_kind


class ReasoningGroup(SettingsGroup):
    """What is done with a model's thoughts."""

    look: ClassVar[GroupLook] = GroupLook(label="Reasoning", tab="more")

    effort: Annotated[
        Literal["auto", "min", "low", "medium", "high", "max"],
        Leaf(
            label="Effort",
            control="select",
            layers=("space", "member", "conversation"),
            labels={
                "auto": "As the model likes",
                "min": "Least",
                "low": "Low",
                "medium": "Medium",
                "high": "High",
                "max": "Most",
            },
            visible_when=shown_by_kind("effort"),
        ),
        Field(description="How long the model may think."),
    ] = "auto"
    auto_parse: Annotated[
        bool,
        Leaf(label="Find thoughts in replies", control="toggle", layers=("space", "member")),
        Field(description="Whether marked thoughts are taken out of the reply and shown apart."),
    ] = False
    add_to_prompts: Annotated[
        bool,
        Leaf(label="Send thoughts back", control="toggle", layers=("space", "member")),
        Field(description="Whether the model sees what it thought before."),
    ] = False
    max_additions: Annotated[
        int,
        Leaf(
            label="Most thoughts sent",
            control="number",
            layers=("space", "member"),
            step=1,
            visible_when=VisibleWhen(ref="reasoning.add_to_prompts", values=(True,)),
        ),
        Field(ge=0, le=1000, description="How many of the newest thoughts are sent back."),
    ] = 1
