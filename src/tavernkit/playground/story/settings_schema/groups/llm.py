"""What the model is asked with."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tavernkit.playground.story.settings_schema.leaf import GroupLook, Leaf, SettingsGroup, shown_by_kind

MAX_STOPS = 32


class LlmGroup(SettingsGroup):
    """How replies are generated; what is left empty is as the preset or the provider says."""

    look: ClassVar[GroupLook] = GroupLook(label="Generation", tab="basic")

    context_tokens: Annotated[
        int | None,
        Leaf(label="Context (tokens)", control="number", layers=("space", "member", "conversation"), step=256),
        Field(ge=256, le=2_000_000, description="How long prompt and reply may be together."),
    ] = None
    max_tokens: Annotated[
        int | None,
        Leaf(label="Reply (tokens)", control="number", layers=("space", "member", "conversation"), step=16, quick=True),
        Field(ge=1, le=200_000, description="How long a reply may be."),
    ] = None
    temperature: Annotated[
        float | None,
        Leaf(
            label="Temperature",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            quick=True,
        ),
        Field(ge=0, le=5, description="Low is predictable, high is surprising."),
    ] = None
    top_p: Annotated[
        float | None,
        Leaf(label="Top P", control="slider", layers=("space", "member", "conversation"), step=0.01),
        Field(ge=0, le=1, description="Only the likeliest tokens up to this probability."),
    ] = None
    top_k: Annotated[
        int | None,
        Leaf(label="Top K", control="number", layers=("space", "member", "conversation"), step=1),
        Field(ge=0, le=1000, description="Only this many of the likeliest tokens; 0 is all."),
    ] = None
    min_p: Annotated[
        float | None,
        Leaf(
            label="Min P",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("min_p"),
        ),
        Field(ge=0, le=1, description="Only tokens at least this likely, measured by the likeliest."),
    ] = None
    top_a: Annotated[
        float | None,
        Leaf(
            label="Top A",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("top_a"),
        ),
        Field(ge=0, le=1, description="Like Min P, by the square of the likeliest."),
    ] = None
    typical_p: Annotated[
        float | None,
        Leaf(
            label="Typical P",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("typical_p"),
        ),
        Field(ge=0, le=1, description="Only tokens that are about as surprising as expected."),
    ] = None
    frequency_penalty: Annotated[
        float | None,
        Leaf(
            label="Frequency penalty",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("frequency_penalty"),
        ),
        Field(ge=-2, le=2, description="Against words by how often they were said."),
    ] = None
    presence_penalty: Annotated[
        float | None,
        Leaf(
            label="Presence penalty",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("presence_penalty"),
        ),
        Field(ge=-2, le=2, description="Against words that were said at all."),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        Leaf(
            label="Repetition penalty",
            control="slider",
            layers=("space", "member", "conversation"),
            step=0.01,
            visible_when=shown_by_kind("repetition_penalty"),
        ),
        Field(ge=0.5, le=3, description="Above 1 is against repetition."),
    ] = None
    seed: Annotated[
        int | None,
        Leaf(
            label="Seed",
            control="number",
            layers=("space", "member", "conversation"),
            step=1,
            visible_when=shown_by_kind("seed"),
        ),
        Field(ge=-1, le=2**31 - 1, description="The same seed gives the same reply where the model can; -1 is none."),
    ] = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Leaf(label="Stop at", control="tags", layers=("space", "member", "conversation")),
        Field(max_length=MAX_STOPS, description="A reply ends where one of these begins."),
    ] = None
    stream: Annotated[
        bool,
        Leaf(label="Show replies as they are written", control="toggle", layers=("space", "member", "conversation")),
        Field(description="Whether the text is shown while it is generated."),
    ] = True
