"""What building a request has come to, whatever the platform."""

from __future__ import annotations

from tavernkit.cli.file_notes import FileNote
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.values import Value


class BuiltRequest(Value, frozen=True, kw_only=True):
    """The plan, how it is to be written down, and what it was built from."""

    plan: Plan
    dialect: str
    model: str | None
    completion: str
    generation_type: str
    messages: tuple[Message, ...]
    notes: tuple[FileNote, ...]
