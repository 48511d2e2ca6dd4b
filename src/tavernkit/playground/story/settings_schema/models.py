"""Every setting of a story, with its type, its limits and its default, where it is stored, and how it is shown.

A setting without a value of its own (null) leaves the decision to the preset, the card or the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.values import Json, JsonObject, Value

MAX_TEXT = 100_000


Layer: TypeAlias = Literal["space", "member", "conversation"]
Source: TypeAlias = Literal["default", "space", "member", "conversation"]
Control: TypeAlias = Literal["text", "textarea", "number", "slider", "toggle", "select", "tags"]
Reference: TypeAlias = Literal[
    "provider", "chat", "text", "risuai", "module", "instruct", "context", "system_prompt", "reasoning"
]
"""What an id points to: a provider, or a preset of one of these kinds."""

LAYERS: tuple[Layer, ...] = ("space", "member", "conversation")
"""Where settings can be made; each layer counts more than those before it."""
OF_SPACES: tuple[Layer, ...] = ("space",)
OF_MEMBERS: tuple[Layer, ...] = ("space", "member")
OF_CHATS: tuple[Layer, ...] = ("space", "conversation")


class GroupLook(Value, frozen=True, kw_only=True):
    """How a group of settings is headed, on which tab it is, and where its settings are made and kept."""

    label: str
    tab: Literal["basic", "prompts", "authors_note", "more"]
    layers: tuple[Layer, ...]
    has_columns: bool = False


class SettingsGroup(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )
    look: ClassVar[GroupLook]


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


class Leaf(Value, frozen=True, kw_only=True):
    """One setting; what it does not say itself is decided by its group, its type and its name.

    One that `has_column` is kept in a column of its name in each layer, the others in JSON. `by_kind` is for what only
    some kinds of providers have. One that is not `in_form` has a place of its own on the page.
    """

    label: str
    control: Control = "number"
    layers: tuple[Layer, ...] = ()
    has_column: bool = False
    refers_to: tuple[Reference, ...] = ()
    step: float | None = None
    rows: int | None = None
    labels: Mapping[str, str] = {}
    visible_when: VisibleWhen | None = None
    by_kind: bool = False
    quick: bool = False
    in_form: bool = True

    def completed(self, name: str, annotation: object, group: GroupLook) -> Self:
        """The setting of this name and type in its group, with everything that is known of it."""
        kinds = tuple(kind.id for kind in PROVIDER_KINDS.values() if name in kind.settings)
        return self.with_(
            control=_control(annotation),
            layers=self.layers or group.layers,
            has_column=self.has_column or group.has_columns,
            visible_when=VisibleWhen(context="provider_kind", values=kinds) if self.by_kind else self.visible_when,
        )


def _control(annotation: object) -> Control:
    """How a value of this type, or none, is entered."""
    choices = get_args(annotation)
    kind = choices[0] if NoneType in choices else annotation
    return "tags" if get_origin(kind) is list else _CONTROLS.get(kind, "select")


_CONTROLS: Mapping[object, Control] = {bool: "toggle", int: "number", float: "slider", str: "textarea"}
"""Anything else is chosen from a list."""

_GROUP = VisibleWhen(context="is_group", values=(True,))


class SpaceGroup(SettingsGroup):
    """Who speaks when, and what happens meanwhile."""

    look: ClassVar[GroupLook] = GroupLook(label="Replies", tab="basic", layers=OF_SPACES, has_columns=True)

    reply_order: Annotated[
        Literal["manual", "natural", "list", "pooled"],
        Leaf(
            label="Who answers",
            labels={
                "manual": "Whoever I ask",
                "natural": "Whoever would",
                "list": "Everybody in order",
                "pooled": "Each once, then again",
            },
            visible_when=_GROUP,
            quick=True,
        ),
    ] = "natural"
    """How the next speakers are chosen when there are several characters."""
    card_handling_mode: Annotated[
        Literal["swap", "append", "append_disabled"],
        Leaf(
            label="Cards in the prompt",
            labels={
                "swap": "Only the speaker's",
                "append": "All, without muted members",
                "append_disabled": "All, with muted members",
            },
            visible_when=_GROUP,
        ),
    ] = "swap"
    """Whether the prompt tells of the speaker alone, or of all characters."""
    allow_self_responses: Annotated[bool, Leaf(label="A character may answer itself", visible_when=_GROUP)] = False
    """Whether who has just spoken can be chosen again."""
    auto_mode_enabled: Annotated[
        bool, Leaf(label="Characters go on by themselves", visible_when=_GROUP, quick=True)
    ] = False
    """Whether characters answer each other without waiting for a person."""
    auto_mode_delay_ms: Annotated[
        int, Leaf(label="Pause between automatic replies (ms)", step=500), Field(ge=0, le=600_000)
    ] = 5000
    """How long a character or the copilot waits before it continues without you."""
    during_generation_user_input_policy: Annotated[
        Literal["reject", "queue", "restart"],
        Leaf(
            label="A message during a reply",
            labels={"reject": "has to wait", "queue": "is answered next", "restart": "starts the reply anew"},
        ),
    ] = "reject"
    """What happens to a message that is sent while a reply is being written."""
    user_turn_debounce_ms: Annotated[
        int, Leaf(label="Wait for further messages (ms)", step=100), Field(ge=0, le=60_000)
    ] = 0
    """Messages within this time are answered together."""
    group_regenerate_mode: Annotated[
        Literal["single_message", "last_turn"],
        Leaf(
            label="Regenerate",
            labels={"single_message": "the last message", "last_turn": "everything since my last message"},
            visible_when=_GROUP,
        ),
    ] = "single_message"
    """How much is told anew in a group."""
    relax_message_trim: Annotated[bool, Leaf(label="Let a reply speak for others", visible_when=_GROUP)] = False
    """Otherwise a reply ends where another character begins to speak in it."""
    token_limit: Annotated[int, Leaf(label="Tokens this space may use", step=10_000), Field(ge=0, le=10**12)] = 0
    """No reply is begun beyond it; 0 is no limit."""


class ModelGroup(SettingsGroup):
    """Which model answers, by which preset and templates."""

    look: ClassVar[GroupLook] = GroupLook(label="Model", tab="basic", layers=OF_MEMBERS)

    provider_id: Annotated[UUID | None, Leaf(label="Model", has_column=True, refers_to=("provider",), quick=True)] = (
        None
    )
    """Who answers; without one, the default provider."""
    preset_id: Annotated[
        UUID | None, Leaf(label="Preset", has_column=True, refers_to=("chat", "text", "risuai"), quick=True)
    ] = None
    """Prompts and generation settings; without one, those that come with the application."""
    instruct_id: Annotated[UUID | None, Leaf(label="Instruct template", refers_to=("instruct",), by_kind=True)] = None
    """How turns are marked in a text prompt."""
    context_id: Annotated[UUID | None, Leaf(label="Context template", refers_to=("context",), by_kind=True)] = None
    """How the beginning of a text prompt is laid out."""
    system_prompt_id: Annotated[UUID | None, Leaf(label="System prompt", refers_to=("system_prompt",))] = None
    """The first instruction."""
    reasoning_id: Annotated[UUID | None, Leaf(label="Reasoning template", refers_to=("reasoning",))] = None
    """How thoughts are marked in replies."""


MAX_STOPS = 32


class LlmGroup(SettingsGroup):
    """How replies are generated; what is left empty is as the preset or the provider says."""

    look: ClassVar[GroupLook] = GroupLook(label="Generation", tab="basic", layers=LAYERS)

    context_tokens: Annotated[int | None, Leaf(label="Context (tokens)", step=256), Field(ge=256, le=2_000_000)] = None
    """How long prompt and reply may be together."""
    max_tokens: Annotated[int | None, Leaf(label="Reply (tokens)", step=16, quick=True), Field(ge=1, le=200_000)] = None
    """How long a reply may be."""
    temperature: Annotated[float | None, Leaf(label="Temperature", step=0.01, quick=True), Field(ge=0, le=5)] = None
    """Low is predictable, high is surprising."""
    top_p: Annotated[float | None, Leaf(label="Top P", step=0.01), Field(ge=0, le=1)] = None
    """Only the likeliest tokens up to this probability."""
    top_k: Annotated[int | None, Leaf(label="Top K", step=1), Field(ge=0, le=1000)] = None
    """Only this many of the likeliest tokens; 0 is all."""
    min_p: Annotated[float | None, Leaf(label="Min P", step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Only tokens at least this likely, measured by the likeliest."""
    top_a: Annotated[float | None, Leaf(label="Top A", step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Like Min P, by the square of the likeliest."""
    typical_p: Annotated[float | None, Leaf(label="Typical P", step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Only tokens that are about as surprising as expected."""
    frequency_penalty: Annotated[
        float | None, Leaf(label="Frequency penalty", step=0.01, by_kind=True), Field(ge=-2, le=2)
    ] = None
    """Against words by how often they were said."""
    presence_penalty: Annotated[
        float | None, Leaf(label="Presence penalty", step=0.01, by_kind=True), Field(ge=-2, le=2)
    ] = None
    """Against words that were said at all."""
    repetition_penalty: Annotated[
        float | None, Leaf(label="Repetition penalty", step=0.01, by_kind=True), Field(ge=0.5, le=3)
    ] = None
    """Above 1 is against repetition."""
    seed: Annotated[int | None, Leaf(label="Seed", step=1, by_kind=True), Field(ge=-1, le=2**31 - 1)] = None
    """The same seed gives the same reply where the model can; -1 is none."""
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Leaf(label="Stop at"),
        Field(max_length=MAX_STOPS),
    ] = None
    """A reply ends where one of these begins."""
    stream: Annotated[bool, Leaf(label="Show replies as they are written")] = True
    """Whether the text is shown while it is generated."""


class WorldInfoGroup(SettingsGroup):
    """How lore is found in the chat, as a fresh SillyTavern does it."""

    look: ClassVar[GroupLook] = GroupLook(label="World Info", tab="prompts", layers=OF_CHATS)

    depth: Annotated[int, Leaf(label="Messages to scan", step=1), Field(ge=0, le=1000)] = 2
    """How many of the newest messages are searched for keys."""
    budget_percent: Annotated[float, Leaf(label="Share of the context (%)", step=1), Field(ge=0, le=100)] = 25
    """How much of the context lore may take."""
    budget_cap: Annotated[int, Leaf(label="Most tokens", step=64), Field(ge=0, le=2_000_000)] = 0
    """How many tokens lore may take at most; 0 is no limit."""
    min_activations: Annotated[int, Leaf(label="Least activations", step=1), Field(ge=0, le=1000)] = 0
    """Older messages are searched until so many entries are found."""
    min_activations_depth_max: Annotated[int, Leaf(label="Search back at most", step=1), Field(ge=0, le=1000)] = 0
    """How far back that search goes; 0 is to the beginning."""
    include_names: Annotated[bool, Leaf(label="Scan names too")] = True
    """Whether the name before a message counts as part of it."""
    recursive: Annotated[bool, Leaf(label="Entries find entries")] = True
    """Whether the text of an entry is searched for keys of others."""
    max_recursion_steps: Annotated[
        int,
        Leaf(label="Most steps", step=1, visible_when=VisibleWhen(ref="world_info.recursive", values=(True,))),
        Field(ge=0, le=10),
    ] = 0
    """How often entries may find entries; 0 is without end."""
    case_sensitive: Annotated[bool, Leaf(label="Upper and lower case differ")] = False
    """For entries that do not say it themselves."""
    match_whole_words: Annotated[bool, Leaf(label="Whole words only")] = True
    """For entries that do not say it themselves."""
    strategy: Annotated[
        Literal["evenly", "character_first", "global_first"],
        Leaf(
            label="Order of books",
            labels={
                "evenly": "All together",
                "character_first": "The character's first",
                "global_first": "The space's first",
            },
        ),
    ] = "character_first"
    """Whose entries come first in the prompt."""
    use_group_scoring: Annotated[bool, Leaf(label="Best match wins a group")] = False
    """Within a group of entries, the one with most keys found is taken."""


_IN_CHAT = VisibleWhen(ref="authors_note.position", values=("chat",))


class AuthorsNoteGroup(SettingsGroup):
    """A note that is put into the prompt again and again."""

    look: ClassVar[GroupLook] = GroupLook(label="Author's note", tab="authors_note", layers=OF_CHATS)

    text: Annotated[str, Leaf(label="Note", rows=4), Field(max_length=MAX_TEXT)] = ""
    """What the model is reminded of."""
    position: Annotated[
        Literal["none", "before", "after", "chat"],
        Leaf(
            label="Place",
            labels={
                "none": "Nowhere",
                "before": "Before the main prompt",
                "after": "Behind the main prompt",
                "chat": "In the chat",
            },
        ),
    ] = "chat"
    """Where the note stands."""
    depth: Annotated[int, Leaf(label="Messages behind it", step=1, visible_when=_IN_CHAT), Field(ge=0, le=10_000)] = 4
    """How many messages stand behind the note; 0 is at the end."""
    role: Annotated[
        Literal["system", "user", "assistant"],
        Leaf(
            label="Told by",
            labels={"system": "The system", "user": "The user", "assistant": "The character"},
            visible_when=_IN_CHAT,
        ),
    ] = "system"
    """Whose words the note is."""
    interval: Annotated[int, Leaf(label="Every so many messages", step=1), Field(ge=0, le=10_000)] = 1
    """Counts messages of people; 0 is never."""
    scan: Annotated[bool, Leaf(label="Search it for lore")] = False
    """Whether keys of World Info are looked for in the note."""


PlatformChoice: TypeAlias = Literal["auto", "sillytavern", "risuai"]

_JOINED = VisibleWhen(ref="space.card_handling_mode", values=("append", "append_disabled"))


MAX_MODULES = 50


class PromptGroup(SettingsGroup):
    """What stands in the prompt in place of, or around, what the cards say."""

    look: ClassVar[GroupLook] = GroupLook(label="Prompt", tab="prompts", layers=OF_CHATS)

    platform: Annotated[
        PlatformChoice,
        Leaf(
            label="Build prompts like",
            layers=LAYERS,
            labels={"auto": "What the card was made for", "sillytavern": "SillyTavern", "risuai": "RisuAI"},
        ),
        Field(
            description="Whose macros, lore, scripts and order count. By itself, RisuAI's where the card or the preset "
            "comes from there."
        ),
    ] = "auto"
    scenario_override: Annotated[str | None, Leaf(label="Scenario", rows=3), Field(max_length=MAX_TEXT)] = None
    """In place of the scenario of the cards."""
    examples_override: Annotated[str | None, Leaf(label="Example messages", rows=3), Field(max_length=MAX_TEXT)] = None
    """In place of the examples of the cards."""
    system_prompt_override: Annotated[
        str | None, Leaf(label="Main prompt", layers=LAYERS, rows=4), Field(max_length=MAX_TEXT)
    ] = None
    """In place of the main prompt of the card."""
    join_prefix: Annotated[
        str,
        Leaf(label="Before each joined card", layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000),
    ] = ""
    """Where cards are joined, this stands before each of their texts."""
    join_suffix: Annotated[
        str,
        Leaf(label="Behind each joined card", layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000),
    ] = ""
    """Where cards are joined, this stands behind each of their texts."""
    macro_engine: Annotated[
        EngineName,
        Leaf(
            label="Macro engine",
            labels={"1.19": "SillyTavern 1.19", "1.15": "SillyTavern 1.15, experimental", "legacy": "Legacy"},
        ),
    ] = "1.19"
    """How macros are read in prompts that are built like SillyTavern's."""
    regex_scripts: Annotated[bool, Leaf(label="Run regex scripts")] = True
    """Whether the scripts of cards and presets change prompts and replies."""
    modules: Annotated[
        list[UUID], Leaf(label="RisuAI modules", refers_to=("module",), in_form=False), Field(max_length=MAX_MODULES)
    ] = []
    """Lore, scripts and triggers that are switched on together, for prompts that are built like RisuAI's."""
    memory: Annotated[str, Leaf(label="Memory", rows=4), Field(max_length=MAX_TEXT)] = ""
    """What happened before the messages that are sent, for prompts that are built like RisuAI's."""
    history_messages: Annotated[int, Leaf(label="Messages to remember", step=10), Field(ge=1, le=10_000)] = 200
    """How many of the newest messages a prompt is made from at most."""


class ReasoningGroup(SettingsGroup):
    """What is done with a model's thoughts."""

    look: ClassVar[GroupLook] = GroupLook(label="Reasoning", tab="more", layers=OF_MEMBERS)

    effort: Annotated[
        Literal["auto", "min", "low", "medium", "high", "max"],
        Leaf(
            label="Effort",
            layers=LAYERS,
            labels={
                "auto": "As the model likes",
                "min": "Least",
                "low": "Low",
                "medium": "Medium",
                "high": "High",
                "max": "Most",
            },
            by_kind=True,
        ),
    ] = "auto"
    """How long the model may think."""
    auto_parse: Annotated[bool, Leaf(label="Find thoughts in replies")] = False
    """Whether marked thoughts are taken out of the reply and shown apart."""
    add_to_prompts: Annotated[bool, Leaf(label="Send thoughts back")] = False
    """Whether the model sees what it thought before."""
    max_additions: Annotated[
        int,
        Leaf(
            label="Most thoughts sent", step=1, visible_when=VisibleWhen(ref="reasoning.add_to_prompts", values=(True,))
        ),
        Field(ge=0, le=1000),
    ] = 1
    """How many of the newest thoughts are sent back."""


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
