"""Quick replies as JSON: what sets and buttons are made from, changed by, and look like."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field, model_validator

from tavernkit.playground.base.database.models import QuickReplyLink, QuickReplySet
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.schemas import Document, StoredDocument, StrictModel, patching, showing
from tavernkit.playground.base.storable import storable

MAX_BUTTONS = 500
MAX_CONTEXT_SETS = 50
MAX_MESSAGE = 100_000

Name = Annotated[str, Field(min_length=1, max_length=200)]
Version = Annotated[int, Field(ge=0, le=2**31 - 1, description="The `settings_version` of the set that was read.")]
Line = Annotated[str, Field(max_length=1_000)]


class SetFields(StrictModel):
    """What a set says about all of its buttons."""

    name: Name
    disable_send: bool = Field(default=False, description="Whether texts are put into the composer and not sent.")
    place_before_input: bool = Field(default=False, description="Whether texts stand before what was typed.")
    inject_input: bool = Field(default=False, description="Whether what was typed is sent along.")
    color: Annotated[str, Field(max_length=200, description="A colour as CSS writes it.")] = "rgba(0, 0, 0, 0)"
    only_border_color: bool = Field(default=False, description="Whether only the border has the colour.")


class ContextSet(StrictModel):
    """A set in the context menu of a button."""

    set: Annotated[str, Field(max_length=200, description="The name of the set.")]
    is_chained: bool = False


class ButtonFields(StrictModel):
    """A button. What SillyTavern would do by itself is kept and not done here."""

    label: Line = ""
    title: Annotated[str, Field(max_length=5_000, description="Shown while one points at the button.")] = ""
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="A text with macros, or a script.")] = ""
    icon: Line = ""
    show_label: bool = False
    is_hidden: bool = False
    context_list: Annotated[list[ContextSet], Field(max_length=MAX_CONTEXT_SETS)] = []
    prevent_auto_execute: bool = True
    execute_on_startup: bool = False
    execute_on_user: bool = False
    execute_on_ai: bool = False
    execute_on_chat_change: bool = False
    execute_on_group_member_draft: bool = False
    execute_on_new_chat: bool = False
    execute_before_generation: bool = False
    automation_id: Line = ""


class NewQuickReplySet(SetFields):
    buttons: list[ButtonFields] = Field(default=[], max_length=MAX_BUTTONS)


@patching
class PatchQuickReplySet(SetFields):
    settings_version: Version


@patching
class PatchButton(ButtonFields):
    settings_version: Version


class ButtonOrder(StrictModel):
    """All buttons of a set in their new order."""

    settings_version: Version
    ids: list[int] = Field(max_length=MAX_BUTTONS)


@showing
class ButtonOut(ButtonFields, Document):
    """A button."""

    id: int
    is_script: bool = Field(description="Whether the message is a script, which is shown and not run.")


@showing
class QuickReplySetSummary(SetFields, StoredDocument):
    """A set in a list."""

    buttons_count: int
    settings_version: int

    @classmethod
    def of(cls, row: QuickReplySet) -> Self:
        return cls.of_row(row, **_stored(row))


class QuickReplySetOut(QuickReplySetSummary):
    """A set with its buttons, in their order."""

    buttons: list[ButtonOut]

    @classmethod
    def of(cls, row: QuickReplySet) -> Self:
        return cls.of_row(row, **_stored(row), buttons=buttons_in(row.data))


class QuickReplyPlace(StrictModel):
    """Where a set is used: in a space, with a character, or, where neither is named, in all stories of its owner."""

    space_id: UUID | None = None
    character_id: UUID | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.space_id is not None and self.character_id is not None:
            raise ValueError(_("choose a space or a character, not both"))
        return self


class NewPlace(QuickReplyPlace):
    visible: bool = Field(default=True, description="Whether the buttons are shown.")


class PlaceOut(Document):
    """A set in use."""

    set_id: UUID
    user_id: UUID | None
    space_id: UUID | None
    character_id: UUID | None
    visible: bool
    position: int

    @classmethod
    def of(cls, row: QuickReplyLink) -> Self:
        return cls.of_row(row)


def key_of(field: str) -> str:
    """What SillyTavern calls a field."""
    first, *others = field.split("_")
    return first + "".join(map(str.capitalize, others))


def set_fields(data: dict[str, Any]) -> dict[str, Any]:
    """What the file of a set says in its fields, those of the wrong type aside."""
    return _fields(SetFields, data)


def buttons_in(data: dict[str, Any]) -> list[ButtonOut]:
    """The buttons of a set."""
    return [button_of(button) for button in data["qrList"]]


def button_of(button: dict[str, Any]) -> ButtonOut:
    """A button of a file."""
    fields = _fields(ButtonFields, button)
    listed = button.get("contextList")
    fields["context_list"] = [
        ContextSet(set=storable(item["set"])[:200], is_chained=item.get("isChained") is True)
        for item in (listed if isinstance(listed, list) else [])[:MAX_CONTEXT_SETS]
        if isinstance(item, dict) and isinstance(item.get("set"), str)
    ]
    return ButtonOut(id=button["id"], is_script=is_script(fields["message"]), **fields)


def is_script(message: str) -> bool:
    """Whether a message is STscript: it begins with a command."""
    return message.lstrip().startswith("/")


def _stored(row: QuickReplySet) -> dict[str, Any]:
    return {**set_fields(row.data), "name": row.name, "buttons_count": len(row.data["qrList"])}


def _fields(model: type[StrictModel], data: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        default = field.get_default()
        value = data.get(key_of(name))
        if isinstance(default, bool):
            fields[name] = value if isinstance(value, bool) else default
        elif not isinstance(default, list):
            otherwise = default if isinstance(default, str) else ""
            fields[name] = storable(value) if isinstance(value, str) else otherwise
    return fields
