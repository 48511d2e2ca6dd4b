"""Every setting of a story, with its type, its limits and its default, where it is stored, and how it is shown.

A setting without a value of its own (null) leaves the decision to the preset, the card or the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS
from tavernkit.sillytavern.macros.engine import EngineName
from tavernkit.values import Json, JsonObject, Value

MAX_TEXT = 100_000


Layer: TypeAlias = Literal["space", "member", "conversation"]
Source: TypeAlias = Literal["default", "space", "member", "conversation"]
Tab: TypeAlias = Literal["basic", "prompts", "authors_note", "more"]
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
    tab: Tab
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
    """Who replies, and when."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Replies"), tab="basic", layers=OF_SPACES, has_columns=True)

    reply_order: Annotated[
        Literal["manual", "natural", "list", "pooled"],
        Leaf(
            label=_("Reply order"),
            labels={
                "manual": _("Manual"),
                "natural": _("Natural order"),
                "list": _("List order"),
                "pooled": _("Pooled order"),
            },
            visible_when=_GROUP,
            quick=True,
        ),
    ] = "natural"
    """How the characters that reply next are chosen in a group."""
    card_handling_mode: Annotated[
        Literal["swap", "append", "append_disabled"],
        Leaf(
            label=_("Card handling mode"),
            labels={
                "swap": _("Swap character cards"),
                "append": _("Join cards (exclude muted)"),
                "append_disabled": _("Join cards (include muted)"),
            },
            visible_when=_GROUP,
        ),
    ] = "swap"
    """Whether a prompt contains the card of the speaker or the cards of all members."""
    allow_self_responses: Annotated[bool, Leaf(label=_("Allow self responses"), visible_when=_GROUP)] = False
    """The character that replied last can be chosen again."""
    auto_mode_enabled: Annotated[bool, Leaf(label=_("Auto mode"), visible_when=_GROUP, quick=True)] = False
    """Characters reply to each other without waiting for you."""
    auto_mode_delay_ms: Annotated[int, Leaf(label=_("Auto mode delay (ms)"), step=500), Field(ge=0, le=600_000)] = 5000
    """The pause before characters or the copilot continue automatically."""
    during_generation_user_input_policy: Annotated[
        Literal["reject", "queue", "restart"],
        Leaf(
            label=_("Message during a reply"),
            labels={"reject": _("Reject"), "queue": _("Reply to it next"), "restart": _("Restart the reply")},
        ),
    ] = "reject"
    """What happens to a message that is sent while a reply is generated."""
    user_turn_debounce_ms: Annotated[int, Leaf(label=_("Reply delay (ms)"), step=100), Field(ge=0, le=60_000)] = 0
    """How long to wait for more messages before a reply starts."""
    group_regenerate_mode: Annotated[
        Literal["single_message", "last_turn"],
        Leaf(
            label=_("Regenerate in groups"),
            labels={"single_message": _("Last message"), "last_turn": _("Whole last turn")},
            visible_when=_GROUP,
        ),
    ] = "single_message"
    """What Regenerate replaces in a group."""
    relax_message_trim: Annotated[bool, Leaf(label=_("Relax message trim"), visible_when=_GROUP)] = False
    """Keeps what a reply says for other members; otherwise the reply is cut there."""
    token_limit: Annotated[int, Leaf(label=_("Token limit"), step=10_000), Field(ge=0, le=10**12)] = 0
    """No reply starts once the space has used this many tokens; 0 is no limit."""


class ModelGroup(SettingsGroup):
    """The model that replies, its preset and its templates."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Model"), tab="basic", layers=OF_MEMBERS)

    provider_id: Annotated[
        UUID | None, Leaf(label=_("Model"), has_column=True, refers_to=("provider",), quick=True)
    ] = None
    """The model that generates replies; empty is the default model."""
    preset_id: Annotated[
        UUID | None, Leaf(label=_("Preset"), has_column=True, refers_to=("chat", "text", "risuai"), quick=True)
    ] = None
    """Prompts and samplers; empty is the default preset."""
    instruct_id: Annotated[UUID | None, Leaf(label=_("Instruct template"), refers_to=("instruct",), by_kind=True)] = (
        None
    )
    """How messages are formatted in text completion prompts."""
    context_id: Annotated[UUID | None, Leaf(label=_("Context template"), refers_to=("context",), by_kind=True)] = None
    """How character, persona and lore are arranged in text completion prompts."""
    system_prompt_id: Annotated[UUID | None, Leaf(label=_("System prompt"), refers_to=("system_prompt",))] = None
    """Replaces the main prompt of the preset."""
    reasoning_id: Annotated[UUID | None, Leaf(label=_("Reasoning template"), refers_to=("reasoning",))] = None
    """How reasoning is marked in replies."""


MAX_STOPS = 32


class LlmGroup(SettingsGroup):
    """Lengths and samplers; empty fields use the values of the preset or the provider."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Generation"), tab="basic", layers=LAYERS)

    context_tokens: Annotated[
        int | None, Leaf(label=_("Context size (tokens)"), step=256), Field(ge=256, le=2_000_000)
    ] = None
    """The maximum size of prompt and reply together."""
    max_tokens: Annotated[
        int | None, Leaf(label=_("Response length (tokens)"), step=16, quick=True), Field(ge=1, le=200_000)
    ] = None
    """The maximum size of a reply."""
    temperature: Annotated[float | None, Leaf(label=_("Temperature"), step=0.01, quick=True), Field(ge=0, le=5)] = None
    """Higher values make replies more random."""
    top_p: Annotated[float | None, Leaf(label=_("Top P"), step=0.01), Field(ge=0, le=1)] = None
    """Keeps only the most likely tokens up to this total probability."""
    top_k: Annotated[int | None, Leaf(label=_("Top K"), step=1), Field(ge=0, le=1000)] = None
    """Keeps only this many of the most likely tokens; 0 keeps all."""
    min_p: Annotated[float | None, Leaf(label=_("Min P"), step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Removes tokens below this fraction of the most likely token's probability."""
    top_a: Annotated[float | None, Leaf(label=_("Top A"), step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Like Min P, with the square of the most likely token's probability."""
    typical_p: Annotated[float | None, Leaf(label=_("Typical P"), step=0.01, by_kind=True), Field(ge=0, le=1)] = None
    """Keeps only tokens whose probability is close to the average."""
    frequency_penalty: Annotated[
        float | None, Leaf(label=_("Frequency penalty"), step=0.01, by_kind=True), Field(ge=-2, le=2)
    ] = None
    """Makes tokens less likely the more often they occurred."""
    presence_penalty: Annotated[
        float | None, Leaf(label=_("Presence penalty"), step=0.01, by_kind=True), Field(ge=-2, le=2)
    ] = None
    """Makes tokens less likely if they occurred at all."""
    repetition_penalty: Annotated[
        float | None, Leaf(label=_("Repetition penalty"), step=0.01, by_kind=True), Field(ge=0.5, le=3)
    ] = None
    """Values above 1 reduce repetition."""
    seed: Annotated[int | None, Leaf(label=_("Seed"), step=1, by_kind=True), Field(ge=-1, le=2**31 - 1)] = None
    """The same seed gives the same reply where the model supports it; -1 is random."""
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Leaf(label=_("Stop strings")),
        Field(max_length=MAX_STOPS),
    ] = None
    """A reply ends where one of these strings begins."""
    stream: Annotated[bool, Leaf(label=_("Streaming"))] = True
    """Shows replies while they are generated."""
    record: Annotated[bool, Leaf(label=_("Record replies"), layers=OF_CHATS)] = False
    """Keeps what the provider sends, piece by piece, so that a reply can be replayed."""


class WorldInfoGroup(SettingsGroup):
    """How lorebook entries are activated."""

    look: ClassVar[GroupLook] = GroupLook(label=_("World Info"), tab="prompts", layers=OF_CHATS)

    depth: Annotated[int, Leaf(label=_("Scan depth"), step=1), Field(ge=0, le=1000)] = 2
    """How many of the latest messages are scanned for keys."""
    budget_percent: Annotated[float, Leaf(label=_("Context percent"), step=1), Field(ge=0, le=100)] = 25
    """How much of the context entries may use, in percent."""
    budget_cap: Annotated[int, Leaf(label=_("Budget cap (tokens)"), step=64), Field(ge=0, le=2_000_000)] = 0
    """How many tokens entries may use; 0 is no limit."""
    min_activations: Annotated[int, Leaf(label=_("Min activations"), step=1), Field(ge=0, le=1000)] = 0
    """Scans older messages until this many entries are activated."""
    min_activations_depth_max: Annotated[int, Leaf(label=_("Max depth"), step=1), Field(ge=0, le=1000)] = 0
    """How many messages min activations may scan; 0 is no limit."""
    include_names: Annotated[bool, Leaf(label=_("Include names"))] = True
    """Scans the names of speakers with their messages."""
    recursive: Annotated[bool, Leaf(label=_("Recursive scanning"))] = True
    """Activated entries are scanned for keys of other entries."""
    max_recursion_steps: Annotated[
        int,
        Leaf(
            label=_("Max recursion steps"), step=1, visible_when=VisibleWhen(ref="world_info.recursive", values=(True,))
        ),
        Field(ge=0, le=10),
    ] = 0
    """How often activated entries are scanned again; 0 is no limit."""
    case_sensitive: Annotated[bool, Leaf(label=_("Case-sensitive"))] = False
    """The default for entries without a setting of their own."""
    match_whole_words: Annotated[bool, Leaf(label=_("Match whole words"))] = True
    """The default for entries without a setting of their own."""
    strategy: Annotated[
        Literal["evenly", "character_first", "global_first"],
        Leaf(
            label=_("Insertion strategy"),
            labels={
                "evenly": _("Sorted evenly"),
                "character_first": _("Character lore first"),
                "global_first": _("Space lore first"),
            },
        ),
    ] = "character_first"
    """Which lorebooks come first in the prompt."""
    use_group_scoring: Annotated[bool, Leaf(label=_("Use group scoring"))] = False
    """In an inclusion group, the entry with the most matching keys is used."""


_IN_CHAT = VisibleWhen(ref="authors_note.position", values=("chat",))


class AuthorsNoteGroup(SettingsGroup):
    """A text that is inserted into prompts at regular intervals."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Author's note"), tab="authors_note", layers=OF_CHATS)

    text: Annotated[str, Leaf(label=_("Note"), rows=4), Field(max_length=MAX_TEXT)] = ""
    """The text to insert."""
    position: Annotated[
        Literal["none", "before", "after", "chat"],
        Leaf(
            label=_("Position"),
            labels={
                "none": _("Not inserted"),
                "before": _("Before main prompt"),
                "after": _("After main prompt"),
                "chat": _("In chat at depth"),
            },
        ),
    ] = "chat"
    """Where the note is inserted."""
    depth: Annotated[int, Leaf(label=_("Depth"), step=1, visible_when=_IN_CHAT), Field(ge=0, le=10_000)] = 4
    """How many messages follow the note; 0 is the end of the chat."""
    role: Annotated[
        Literal["system", "user", "assistant"],
        Leaf(
            label=_("Role"),
            labels={"system": _("System"), "user": _("User"), "assistant": _("Assistant")},
            visible_when=_IN_CHAT,
        ),
    ] = "system"
    """The role that the note is sent with."""
    interval: Annotated[int, Leaf(label=_("Insertion frequency"), step=1), Field(ge=0, le=10_000)] = 1
    """1 inserts the note into every prompt, 2 with every second user message; 0 is never."""
    scan: Annotated[bool, Leaf(label=_("Scan for World Info"))] = False
    """The note is scanned for keys of lorebook entries."""
    character_text: Annotated[
        str, Leaf(label=_("Note of the character"), layers=OF_MEMBERS, rows=3), Field(max_length=MAX_TEXT)
    ] = ""
    """A note for replies of this character, beside the note of the chat or in its place."""
    character_placement: Annotated[
        Literal["replace", "before", "after"],
        Leaf(
            label=_("Place of the character's note"),
            layers=OF_MEMBERS,
            labels={
                "replace": _("Instead of the note"),
                "before": _("Before the note"),
                "after": _("After the note"),
            },
        ),
    ] = "replace"
    """Where the note of the character stands."""


PlatformChoice: TypeAlias = Literal["auto", "sillytavern", "risuai"]

_JOINED = VisibleWhen(ref="space.card_handling_mode", values=("append", "append_disabled"))


MAX_MODULES = 50


class PromptGroup(SettingsGroup):
    """How prompts are built, and texts that replace those of the cards."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Prompt"), tab="prompts", layers=OF_CHATS)

    platform: Annotated[
        PlatformChoice,
        Leaf(
            label=_("Prompt format"),
            layers=LAYERS,
            labels={"auto": _("Automatic"), "sillytavern": "SillyTavern", "risuai": "RisuAI"},
        ),
    ] = "auto"
    """The application whose prompt rules apply; automatic is RisuAI for its cards and presets."""
    scenario_override: Annotated[str | None, Leaf(label=_("Scenario override"), rows=3), Field(max_length=MAX_TEXT)] = (
        None
    )
    """Replaces the scenario of the cards."""
    examples_override: Annotated[
        str | None, Leaf(label=_("Example messages override"), rows=3), Field(max_length=MAX_TEXT)
    ] = None
    """Replaces the example messages of the cards."""
    system_prompt_override: Annotated[
        str | None, Leaf(label=_("Main prompt override"), layers=LAYERS, rows=4), Field(max_length=MAX_TEXT)
    ] = None
    """Replaces the main prompt of the card."""
    join_prefix: Annotated[
        str,
        Leaf(label=_("Join prefix"), layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000),
    ] = ""
    """Inserted before each text of joined cards."""
    join_suffix: Annotated[
        str,
        Leaf(label=_("Join suffix"), layers=OF_SPACES, rows=2, visible_when=_JOINED),
        Field(max_length=10_000),
    ] = ""
    """Inserted after each text of joined cards."""
    macro_engine: Annotated[
        EngineName,
        Leaf(
            label=_("Macro engine"),
            labels={"1.19": "SillyTavern 1.19", "1.15": _("SillyTavern 1.15 (experimental)"), "legacy": _("Legacy")},
        ),
    ] = "1.19"
    """How macros are evaluated in SillyTavern prompts."""
    stable_layout: Annotated[bool, Leaf(label=_("Stable layout"))] = False
    """SillyTavern prompts contain text that changes every turn after the chat, so that providers can reuse more."""
    freeze_lore: Annotated[bool, Leaf(label=_("Freeze lore into history"))] = False
    """In SillyTavern prompts, activated entries stay after the message that activated them."""
    regex_scripts: Annotated[bool, Leaf(label=_("Run regex scripts"))] = True
    """Regex scripts change prompts, replies and how messages are shown."""
    modules: Annotated[
        list[UUID], Leaf(label=_("RisuAI modules"), refers_to=("module",), in_form=False), Field(max_length=MAX_MODULES)
    ] = []
    """Modules with lore, scripts and triggers for RisuAI prompts."""
    memory: Annotated[str, Leaf(label=_("Memory"), rows=4), Field(max_length=MAX_TEXT)] = ""
    """A summary of earlier messages for RisuAI prompts."""
    history_messages: Annotated[int, Leaf(label=_("Max history messages"), step=10), Field(ge=1, le=10_000)] = 200
    """A prompt contains at most this many of the latest messages."""


class ReasoningGroup(SettingsGroup):
    """How the model's reasoning is requested, shown and sent."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Reasoning"), tab="more", layers=OF_MEMBERS)

    effort: Annotated[
        Literal["auto", "min", "low", "medium", "high", "max"],
        Leaf(
            label=_("Reasoning effort"),
            layers=LAYERS,
            labels={
                "auto": _("Auto"),
                "min": _("Minimum"),
                "low": _("Low"),
                "medium": _("Medium"),
                "high": _("High"),
                "max": _("Maximum"),
            },
            by_kind=True,
        ),
    ] = "auto"
    """How much the model may reason before it replies."""
    auto_parse: Annotated[bool, Leaf(label=_("Auto-parse reasoning"))] = False
    """Moves marked reasoning out of the reply and shows it separately."""
    add_to_prompts: Annotated[bool, Leaf(label=_("Add reasoning to prompts"))] = False
    """Earlier reasoning is sent to the model again."""
    max_additions: Annotated[
        int,
        Leaf(
            label=_("Max reasoning blocks"),
            step=1,
            visible_when=VisibleWhen(ref="reasoning.add_to_prompts", values=(True,)),
        ),
        Field(ge=0, le=1000),
    ] = 1
    """How many of the latest reasoning blocks are sent."""


class DisplayGroup(SettingsGroup):
    """What is shown beside the messages."""

    look: ClassVar[GroupLook] = GroupLook(label=_("Display"), tab="basic", layers=OF_SPACES)

    expressions: Annotated[
        Literal["off", "name", "model"],
        Leaf(
            label=_("Expressions"),
            labels={"off": _("Off"), "name": _("By words in the reply"), "model": _("By asking the model")},
        ),
    ] = "name"
    """Shows the picture of the emotion beside a reply if the character has such pictures."""


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
    display: DisplayGroup = DisplayGroup()
