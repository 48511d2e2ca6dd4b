"""Every setting of a story, with its type, its limits and its default, where it is stored, and how it is shown.

A setting without a value of its own (null) leaves the decision to the preset, the card or the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS
from tavernkit.values import Json, JsonObject, Value

MAX_TEXT = 100_000


class GroupLook(Value, frozen=True, kw_only=True):
    """How a group of settings is headed, and on which tab it is."""

    label: str
    tab: Literal["basic", "prompts", "authors_note", "more"]


class SettingsGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    look: ClassVar[GroupLook]


Layer: TypeAlias = Literal["space", "member", "conversation"]
Source: TypeAlias = Literal["default", "space", "member", "conversation"]
Control: TypeAlias = Literal["text", "textarea", "number", "slider", "toggle", "select", "tags"]
Reference: TypeAlias = Literal[
    "provider", "chat", "text", "risuai", "instruct", "context", "system_prompt", "reasoning"
]
"""What an id points to: a provider, or a preset of one of these kinds."""

LAYERS: tuple[Layer, ...] = ("space", "member", "conversation")
"""Where settings can be made; each layer counts more than those before it."""
OF_SPACES: tuple[Layer, ...] = ("space",)
OF_MEMBERS: tuple[Layer, ...] = ("space", "member")
OF_CHATS: tuple[Layer, ...] = ("space", "conversation")

DOCUMENTS: Mapping[Layer, str] = {
    "space": "space.prompt_settings",
    "member": "membership.settings",
    "conversation": "conversation.settings",
}
"""The JSON column of each layer, for settings without a column of their own."""


class VisibleWhen(Value, frozen=True, kw_only=True):
    """A setting that matters only under a condition: on what the page knows, or on another setting."""

    context: str | None = None
    ref: str | None = None
    values: tuple[Json, ...]

    def to_json(self) -> JsonObject:
        about = {"context": self.context} if self.ref is None else {"ref": self.ref}
        return {**about, **({"const": self.values[0]} if len(self.values) == 1 else {"in": list(self.values)})}


def shown_by_kind(setting: str) -> VisibleWhen:
    """The condition of a setting that only some kinds of providers have."""
    kinds = tuple(kind.id for kind in PROVIDER_KINDS.values() if setting in kind.settings)
    return VisibleWhen(context="provider_kind", values=kinds)


class Leaf(Value, frozen=True, kw_only=True):
    """One setting; one that `has_column` is kept in a column of its name in each layer, the others in JSON."""

    label: str
    control: Control
    layers: tuple[Layer, ...]
    has_column: bool = False
    refers_to: tuple[Reference, ...] = ()
    step: float | None = None
    rows: int | None = None
    labels: Mapping[str, str] = {}
    visible_when: VisibleWhen | None = None
    quick: bool = False


_GROUP = VisibleWhen(context="is_group", values=(True,))


class SpaceGroup(SettingsGroup):
    """Who speaks when, and what happens meanwhile."""

    look: ClassVar[GroupLook] = GroupLook(label="Replies", tab="basic")

    reply_order: Annotated[
        Literal["manual", "natural", "list", "pooled"],
        Leaf(
            label="Who answers",
            control="select",
            layers=OF_SPACES,
            has_column=True,
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
            layers=OF_SPACES,
            has_column=True,
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
            layers=OF_SPACES,
            has_column=True,
            visible_when=_GROUP,
        ),
        Field(description="Whether who has just spoken can be chosen again."),
    ] = False
    auto_mode_enabled: Annotated[
        bool,
        Leaf(
            label="Characters go on by themselves",
            control="toggle",
            layers=OF_SPACES,
            has_column=True,
            visible_when=_GROUP,
            quick=True,
        ),
        Field(description="Whether characters answer each other without waiting for a person."),
    ] = False
    auto_mode_delay_ms: Annotated[
        int,
        Leaf(
            label="Pause between automatic replies (ms)", control="number", layers=OF_SPACES, has_column=True, step=500
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
            layers=OF_SPACES,
            has_column=True,
            labels={"reject": "has to wait", "queue": "is answered next", "restart": "starts the reply anew"},
        ),
        Field(description="What happens to a message that is sent while a reply is being written."),
    ] = "reject"
    user_turn_debounce_ms: Annotated[
        int,
        Leaf(label="Wait for further messages (ms)", control="number", layers=OF_SPACES, has_column=True, step=100),
        Field(ge=0, le=60_000, description="Messages within this time are answered together."),
    ] = 0
    group_regenerate_mode: Annotated[
        Literal["single_message", "last_turn"],
        Leaf(
            label="Regenerate",
            control="select",
            layers=OF_SPACES,
            has_column=True,
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
            layers=OF_SPACES,
            has_column=True,
            visible_when=_GROUP,
        ),
        Field(description="Otherwise a reply ends where another character begins to speak in it."),
    ] = False
    token_limit: Annotated[
        int,
        Leaf(label="Tokens this space may use", control="number", layers=OF_SPACES, has_column=True, step=10_000),
        Field(ge=0, le=10**12, description="No reply is begun beyond it; 0 is no limit."),
    ] = 0


class ModelGroup(SettingsGroup):
    """Which model answers, by which preset and templates."""

    look: ClassVar[GroupLook] = GroupLook(label="Model", tab="basic")

    provider_id: Annotated[
        UUID | None,
        Leaf(label="Model", control="select", layers=OF_MEMBERS, has_column=True, refers_to=("provider",), quick=True),
        Field(description="Who answers; without one, the default provider."),
    ] = None
    preset_id: Annotated[
        UUID | None,
        Leaf(
            label="Preset",
            control="select",
            layers=OF_MEMBERS,
            has_column=True,
            refers_to=("chat", "text", "risuai"),
            quick=True,
        ),
        Field(description="Prompts and generation settings; without one, those that come with the application."),
    ] = None
    instruct_id: Annotated[
        UUID | None,
        Leaf(
            label="Instruct template",
            control="select",
            layers=OF_MEMBERS,
            refers_to=("instruct",),
            visible_when=shown_by_kind("instruct_id"),
        ),
        Field(description="How turns are marked in a text prompt."),
    ] = None
    context_id: Annotated[
        UUID | None,
        Leaf(
            label="Context template",
            control="select",
            layers=OF_MEMBERS,
            refers_to=("context",),
            visible_when=shown_by_kind("context_id"),
        ),
        Field(description="How the beginning of a text prompt is laid out."),
    ] = None
    system_prompt_id: Annotated[
        UUID | None,
        Leaf(label="System prompt", control="select", layers=OF_MEMBERS, refers_to=("system_prompt",)),
        Field(description="The first instruction."),
    ] = None
    reasoning_id: Annotated[
        UUID | None,
        Leaf(label="Reasoning template", control="select", layers=OF_MEMBERS, refers_to=("reasoning",)),
        Field(description="How thoughts are marked in replies."),
    ] = None


MAX_STOPS = 32


class LlmGroup(SettingsGroup):
    """How replies are generated; what is left empty is as the preset or the provider says."""

    look: ClassVar[GroupLook] = GroupLook(label="Generation", tab="basic")

    context_tokens: Annotated[
        int | None,
        Leaf(label="Context (tokens)", control="number", layers=LAYERS, step=256),
        Field(ge=256, le=2_000_000, description="How long prompt and reply may be together."),
    ] = None
    max_tokens: Annotated[
        int | None,
        Leaf(label="Reply (tokens)", control="number", layers=LAYERS, step=16, quick=True),
        Field(ge=1, le=200_000, description="How long a reply may be."),
    ] = None
    temperature: Annotated[
        float | None,
        Leaf(label="Temperature", control="slider", layers=LAYERS, step=0.01, quick=True),
        Field(ge=0, le=5, description="Low is predictable, high is surprising."),
    ] = None
    top_p: Annotated[
        float | None,
        Leaf(label="Top P", control="slider", layers=LAYERS, step=0.01),
        Field(ge=0, le=1, description="Only the likeliest tokens up to this probability."),
    ] = None
    top_k: Annotated[
        int | None,
        Leaf(label="Top K", control="number", layers=LAYERS, step=1),
        Field(ge=0, le=1000, description="Only this many of the likeliest tokens; 0 is all."),
    ] = None
    min_p: Annotated[
        float | None,
        Leaf(label="Min P", control="slider", layers=LAYERS, step=0.01, visible_when=shown_by_kind("min_p")),
        Field(ge=0, le=1, description="Only tokens at least this likely, measured by the likeliest."),
    ] = None
    top_a: Annotated[
        float | None,
        Leaf(label="Top A", control="slider", layers=LAYERS, step=0.01, visible_when=shown_by_kind("top_a")),
        Field(ge=0, le=1, description="Like Min P, by the square of the likeliest."),
    ] = None
    typical_p: Annotated[
        float | None,
        Leaf(label="Typical P", control="slider", layers=LAYERS, step=0.01, visible_when=shown_by_kind("typical_p")),
        Field(ge=0, le=1, description="Only tokens that are about as surprising as expected."),
    ] = None
    frequency_penalty: Annotated[
        float | None,
        Leaf(
            label="Frequency penalty",
            control="slider",
            layers=LAYERS,
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
            layers=LAYERS,
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
            layers=LAYERS,
            step=0.01,
            visible_when=shown_by_kind("repetition_penalty"),
        ),
        Field(ge=0.5, le=3, description="Above 1 is against repetition."),
    ] = None
    seed: Annotated[
        int | None,
        Leaf(label="Seed", control="number", layers=LAYERS, step=1, visible_when=shown_by_kind("seed")),
        Field(ge=-1, le=2**31 - 1, description="The same seed gives the same reply where the model can; -1 is none."),
    ] = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Leaf(label="Stop at", control="tags", layers=LAYERS),
        Field(max_length=MAX_STOPS, description="A reply ends where one of these begins."),
    ] = None
    stream: Annotated[
        bool,
        Leaf(label="Show replies as they are written", control="toggle", layers=LAYERS),
        Field(description="Whether the text is shown while it is generated."),
    ] = True


class WorldInfoGroup(SettingsGroup):
    """How lore is found in the chat, as a fresh SillyTavern does it."""

    look: ClassVar[GroupLook] = GroupLook(label="World Info", tab="prompts")

    depth: Annotated[
        int,
        Leaf(label="Messages to scan", control="number", layers=OF_CHATS, step=1),
        Field(ge=0, le=1000, description="How many of the newest messages are searched for keys."),
    ] = 2
    budget_percent: Annotated[
        float,
        Leaf(label="Share of the context (%)", control="slider", layers=OF_CHATS, step=1),
        Field(ge=0, le=100, description="How much of the context lore may take."),
    ] = 25
    budget_cap: Annotated[
        int,
        Leaf(label="Most tokens", control="number", layers=OF_CHATS, step=64),
        Field(ge=0, le=2_000_000, description="How many tokens lore may take at most; 0 is no limit."),
    ] = 0
    min_activations: Annotated[
        int,
        Leaf(label="Least activations", control="number", layers=OF_CHATS, step=1),
        Field(ge=0, le=1000, description="Older messages are searched until so many entries are found."),
    ] = 0
    min_activations_depth_max: Annotated[
        int,
        Leaf(label="Search back at most", control="number", layers=OF_CHATS, step=1),
        Field(ge=0, le=1000, description="How far back that search goes; 0 is to the beginning."),
    ] = 0
    include_names: Annotated[
        bool,
        Leaf(label="Scan names too", control="toggle", layers=OF_CHATS),
        Field(description="Whether the name before a message counts as part of it."),
    ] = True
    recursive: Annotated[
        bool,
        Leaf(label="Entries find entries", control="toggle", layers=OF_CHATS),
        Field(description="Whether the text of an entry is searched for keys of others."),
    ] = True
    max_recursion_steps: Annotated[
        int,
        Leaf(
            label="Most steps",
            control="number",
            layers=OF_CHATS,
            step=1,
            visible_when=VisibleWhen(ref="world_info.recursive", values=(True,)),
        ),
        Field(ge=0, le=10, description="How often entries may find entries; 0 is without end."),
    ] = 0
    case_sensitive: Annotated[
        bool,
        Leaf(label="Upper and lower case differ", control="toggle", layers=OF_CHATS),
        Field(description="For entries that do not say it themselves."),
    ] = False
    match_whole_words: Annotated[
        bool,
        Leaf(label="Whole words only", control="toggle", layers=OF_CHATS),
        Field(description="For entries that do not say it themselves."),
    ] = True
    strategy: Annotated[
        Literal["evenly", "character_first", "global_first"],
        Leaf(
            label="Order of books",
            control="select",
            layers=OF_CHATS,
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
        Leaf(label="Best match wins a group", control="toggle", layers=OF_CHATS),
        Field(description="Within a group of entries, the one with most keys found is taken."),
    ] = False


_IN_CHAT = VisibleWhen(ref="authors_note.position", values=("chat",))


class AuthorsNoteGroup(SettingsGroup):
    """A note that is put into the prompt again and again."""

    look: ClassVar[GroupLook] = GroupLook(label="Author's note", tab="authors_note")

    text: Annotated[
        str,
        Leaf(label="Note", control="textarea", layers=OF_CHATS, rows=4),
        Field(max_length=MAX_TEXT, description="What the model is reminded of."),
    ] = ""
    position: Annotated[
        Literal["none", "before", "after", "chat"],
        Leaf(
            label="Place",
            control="select",
            layers=OF_CHATS,
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
        Leaf(label="Messages behind it", control="number", layers=OF_CHATS, step=1, visible_when=_IN_CHAT),
        Field(ge=0, le=10_000, description="How many messages stand behind the note; 0 is at the end."),
    ] = 4
    role: Annotated[
        Literal["system", "user", "assistant"],
        Leaf(
            label="Told by",
            control="select",
            layers=OF_CHATS,
            labels={"system": "The system", "user": "The user", "assistant": "The character"},
            visible_when=_IN_CHAT,
        ),
        Field(description="Whose words the note is."),
    ] = "system"
    interval: Annotated[
        int,
        Leaf(label="Every so many messages", control="number", layers=OF_CHATS, step=1),
        Field(ge=0, le=10_000, description="Counts messages of people; 0 is never."),
    ] = 1
    scan: Annotated[
        bool,
        Leaf(label="Search it for lore", control="toggle", layers=OF_CHATS),
        Field(description="Whether keys of World Info are looked for in the note."),
    ] = False


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
            layers=LAYERS,
            labels={"auto": "What the card was made for", "sillytavern": "SillyTavern", "risuai": "RisuAI"},
        ),
        Field(
            description="Whose macros, lore, scripts and order count. By itself, RisuAI's where the card or the preset "
            "comes from there."
        ),
    ] = "auto"
    scenario_override: Annotated[
        str | None,
        Leaf(label="Scenario", control="textarea", layers=OF_CHATS, rows=3),
        Field(max_length=MAX_TEXT, description="In place of the scenario of the cards."),
    ] = None
    examples_override: Annotated[
        str | None,
        Leaf(label="Example messages", control="textarea", layers=OF_CHATS, rows=3),
        Field(max_length=MAX_TEXT, description="In place of the examples of the cards."),
    ] = None
    system_prompt_override: Annotated[
        str | None,
        Leaf(label="Main prompt", control="textarea", layers=LAYERS, rows=4),
        Field(max_length=MAX_TEXT, description="In place of the main prompt of the card."),
    ] = None
    join_prefix: Annotated[
        str,
        Leaf(label="Before each joined card", control="textarea", layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000, description="Where cards are joined, this stands before each of their texts."),
    ] = ""
    join_suffix: Annotated[
        str,
        Leaf(label="Behind each joined card", control="textarea", layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000, description="Where cards are joined, this stands behind each of their texts."),
    ] = ""
    regex_scripts: Annotated[
        bool,
        Leaf(label="Run regex scripts", control="toggle", layers=OF_CHATS),
        Field(description="Whether the scripts of cards and presets change prompts and replies."),
    ] = True
    history_messages: Annotated[
        int,
        Leaf(label="Messages to remember", control="number", layers=OF_CHATS, step=10),
        Field(ge=1, le=10_000, description="How many of the newest messages a prompt is made from at most."),
    ] = 200


class ReasoningGroup(SettingsGroup):
    """What is done with a model's thoughts."""

    look: ClassVar[GroupLook] = GroupLook(label="Reasoning", tab="more")

    effort: Annotated[
        Literal["auto", "min", "low", "medium", "high", "max"],
        Leaf(
            label="Effort",
            control="select",
            layers=LAYERS,
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
        Leaf(label="Find thoughts in replies", control="toggle", layers=OF_MEMBERS),
        Field(description="Whether marked thoughts are taken out of the reply and shown apart."),
    ] = False
    add_to_prompts: Annotated[
        bool,
        Leaf(label="Send thoughts back", control="toggle", layers=OF_MEMBERS),
        Field(description="Whether the model sees what it thought before."),
    ] = False
    max_additions: Annotated[
        int,
        Leaf(
            label="Most thoughts sent",
            control="number",
            layers=OF_MEMBERS,
            step=1,
            visible_when=VisibleWhen(ref="reasoning.add_to_prompts", values=(True,)),
        ),
        Field(ge=0, le=1000, description="How many of the newest thoughts are sent back."),
    ] = 1


class StorySettings(BaseModel):
    """All of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    space: SpaceGroup = SpaceGroup()
    model: ModelGroup = ModelGroup()
    llm: LlmGroup = LlmGroup()
    world_info: WorldInfoGroup = WorldInfoGroup()
    authors_note: AuthorsNoteGroup = AuthorsNoteGroup()
    prompt: PromptGroup = PromptGroup()
    reasoning: ReasoningGroup = ReasoningGroup()
