"""What a setting says about itself beside its type: where it is stored, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

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
    """One setting; `columns` names the column in each layer where it has one, the others are in JSON at its path."""

    label: str
    control: Control
    layers: tuple[Layer, ...]
    columns: Mapping[Layer, str] = {}
    refers_to: tuple[Reference, ...] = ()
    step: float | None = None
    rows: int | None = None
    labels: Mapping[str, str] = {}
    visible_when: VisibleWhen | None = None
    quick: bool = False
