"""Where in the chat something belongs, said by a rule that does not depend on what was trimmed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal, Self, TypeAlias, get_args

import msgspec

from tavernkit.artifacts.wire import Wire, one_of
from tavernkit.errors import InvalidArtifactError

Selector: TypeAlias = Literal[
    "after_last_user", "before_last_assistant", "after_message_id", "relative_to_end", "relative_to_anchor"
]
RoleFilter: TypeAlias = Literal["any", "user", "assistant"]

_MESSAGE_ID = "after_message_id:"
_TO_END = "relative_to_end("
_TO_ANCHOR = "relative_to_anchor("
_OFFSET = re.compile(r"-?[0-9]{1,9}")
_FARTHEST = -999_999_999


class Anchor(Wire, frozen=True, kw_only=True):
    """One of five selectors; `str` writes it and `parse` reads it.

    after_last_user        the user's last message
    before_last_assistant  the assistant's last message
    after_message_id       the message of that id
    relative_to_end        the message that has -offset matching messages from itself to the end; 0 is the end
    relative_to_anchor     the message -offset messages before another anchor's
    """

    spellings: ClassVar[Mapping[str, str]] = {"type": "selector", "kind": "selector", "id": "message_id"}
    blank: ClassVar[Mapping[str, object]] = {"selector": "after_last_user"}
    needs: ClassVar[Mapping[str, str]] = {"selector": "An anchor needs a selector, such as after_last_user."}

    selector: Selector
    message_id: str | None = None
    offset: int | None = None
    role_filter: RoleFilter = "any"
    base: Anchor | None = msgspec.field(default=None, name="anchor")

    def __post_init__(self) -> None:
        if self.offset is None and self.selector.startswith("relative_"):
            raise InvalidArtifactError(f"The anchor {self.selector} needs an offset, such as -4.")
        if not _FARTHEST <= self.distance <= 0:
            raise InvalidArtifactError(
                f"The offset of {self.selector} counts backwards: it is 0 or below, down to {_FARTHEST}."
            )
        if (self.selector == "after_message_id") != bool(self.message_id):
            raise InvalidArtifactError("after_message_id, and no other anchor, names a message: after_message_id:<id>.")
        if (self.selector == "relative_to_anchor") != (self.base is not None):
            raise InvalidArtifactError(
                "relative_to_anchor, and no other anchor, counts from another: "
                "relative_to_anchor(anchor=after_last_user, offset=-4)."
            )
        if self.base is not None and (self.base.selector == "relative_to_anchor" or self.base.is_end):
            raise InvalidArtifactError(
                f"relative_to_anchor cannot count from {self.base}. Use relative_to_end, or the anchor of a message."
            )
        if self.role_filter != "any" and self.selector != "relative_to_end":
            raise InvalidArtifactError(f"roleFilter belongs to relative_to_end, not to {self.selector}.")
        if self.offset and not self.selector.startswith("relative_"):
            raise InvalidArtifactError(f"{self.selector} takes no offset: use relative_to_end or relative_to_anchor.")

    @property
    def distance(self) -> int:
        """The offset, 0 where there is none."""
        return self.offset or 0

    @property
    def is_end(self) -> bool:
        """True for the end of the chat, where there is no message to change."""
        return self.selector == "relative_to_end" and not self.offset

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the form in which anchors are written."""
        text = text.strip()
        if text.startswith(_MESSAGE_ID):
            return cls(selector="after_message_id", message_id=text.removeprefix(_MESSAGE_ID))
        if text.startswith(_TO_ANCHOR) and text.endswith(")"):
            return cls._relative_to_anchor(text[len(_TO_ANCHOR) : -1], text)
        if text.startswith(_TO_END) and text.endswith(")"):
            return cls._relative_to_end(text[len(_TO_END) : -1], text)
        if text == "after_last_user":
            return cls(selector="after_last_user")
        if text == "before_last_assistant":
            return cls(selector="before_last_assistant")
        raise InvalidArtifactError(
            f"The anchor {text[:80]!r} cannot be read. Use after_last_user, before_last_assistant, "
            "after_message_id:<id>, relative_to_end(offset=-4, roleFilter=any) or "
            "relative_to_anchor(anchor=after_last_user, offset=-4)."
        )

    @classmethod
    def _relative_to_anchor(cls, arguments: str, text: str) -> Self:
        anchor, _, offset = arguments.rpartition(",")
        (first, _, base), (second, _, number) = anchor.partition("="), offset.partition("=")
        base, number = base.strip(), number.strip()
        # An anchor that counts from a third one is refused in any case; reading it first could go down without end.
        is_written = first.strip() == "anchor" and second.strip() == "offset" and not base.startswith(_TO_ANCHOR)
        if not is_written or not _OFFSET.fullmatch(number):
            raise InvalidArtifactError(
                f"The anchor {text[:80]!r} cannot be read: write relative_to_anchor(anchor=after_last_user, offset=-4)."
            )
        return cls(selector="relative_to_anchor", base=cls.parse(base), offset=int(number))

    @classmethod
    def _relative_to_end(cls, arguments: str, text: str) -> Self:
        given = {
            name.strip(): value.strip() for name, _, value in (part.partition("=") for part in arguments.split(","))
        }
        offset = given.pop("offset", "")
        role = given.pop("roleFilter", given.pop("role_filter", "any"))
        if given or not _OFFSET.fullmatch(offset):
            raise InvalidArtifactError(
                f"The anchor {text[:80]!r} cannot be read: write relative_to_end(offset=-4, roleFilter=any)."
            )
        role_filter = one_of(role, get_args(RoleFilter), what="roleFilter")
        return cls(selector="relative_to_end", offset=int(offset), role_filter=role_filter)

    def __str__(self) -> str:
        match self.selector:
            case "after_message_id":
                return f"{_MESSAGE_ID}{self.message_id}"
            case "relative_to_end":
                return f"relative_to_end(offset={self.offset}, roleFilter={self.role_filter})"
            case "relative_to_anchor":
                return f"relative_to_anchor(anchor={self.base}, offset={self.offset})"
            case simple:
                return simple
