"""The unit a prompt is built from: a piece of text that knows where it came from and whether it may be dropped."""

from __future__ import annotations

from typing import Any, Self

from msgspec.structs import force_setattr, replace

from tavernkit.prompt.message import Attachment, Message
from tavernkit.prompt.parts import Part, SourcedText, TracedText, found_again, parts_of, spans_of
from tavernkit.prompt.sources import SourceSpan
from tavernkit.prompt.tokens import TokenEstimator, default_estimator, message_tokens
from tavernkit.prompt.tracing import realigned, trail_of
from tavernkit.values import JsonObject, Value

NO_TEXT = "a block's role, content, insertion_point and token_budget_group must be text"
ARTIFACT = "artifact"
"""The slot of what an artifact has put into a prompt."""


class Block(Value, frozen=True, kw_only=True):
    """One piece of the prompt.

    Roles, insertion points and budget groups are open sets: any text names one. `id` is given when a build adds the
    block. `metadata["source"]` says which stage made it and from what. Blocks that share a `bundle` are kept or
    evicted together. A block stands where it was put, save that before trimming one with the insertion point `chat` is
    taken to its place, `depth` messages before the end of the chat; at one depth, the higher `order` stands later.
    `parts` say where the characters of `content` come from: of a block with lore each character is in
    exactly one of them; a block that comes from its source alone has none. `trail` is what a traced build knows of
    where they come from.
    """

    id: str = ""
    role: str = "system"
    content: str = ""
    parts: tuple[Part, ...] = ()
    trail: tuple[SourceSpan, ...] = ()
    name: str | None = None
    slot: str | None = None
    enabled: bool = True
    removable: bool = True
    insertion_point: str = "relative"
    depth: int = 0
    order: int = 100
    priority: int = 100
    token_budget_group: str = "default"
    bundle: str | None = None
    attachments: tuple[Attachment, ...] = ()
    message_metadata: JsonObject = {}
    metadata: JsonObject = {}

    def __post_init__(self) -> None:
        if type(self.content) is not str:
            self._take_parts()
        if not (
            isinstance(self.role, str)
            and isinstance(self.insertion_point, str)
            and isinstance(self.token_budget_group, str)
        ):
            raise TypeError(NO_TEXT)

    def _take_parts(self) -> None:
        """Keep what a text with lore knows as the parts of the block."""
        content = self.content
        if type(content) is TracedText and not (content.spans or self.parts):
            trail = content.trail
            force_setattr(self, "trail", trail if type(trail) is tuple else tuple(trail))
            force_setattr(self, "content", content.plain)
            return
        if not isinstance(content, str):
            raise TypeError(NO_TEXT)
        if self.parts or spans_of(content):
            force_setattr(self, "parts", parts_of(content, str(self.source.get("id", ""))))
        if self.trail or isinstance(content, TracedText):
            force_setattr(self, "trail", tuple(trail_of(content)))
        force_setattr(self, "content", str(content))

    @property
    def source(self) -> JsonObject:
        """Where the block came from: at least `stage` and `id` for every block a build made."""
        source = self.metadata.get("source")
        return source if isinstance(source, dict) else {}

    @property
    def lore_parts(self) -> tuple[Part, ...]:
        """The parts that come from lore entries, in the order of the content."""
        return tuple(part for part in self.parts if part.kind == "lore")

    @property
    def sourced_content(self) -> str:
        """The content, which knows its parts."""
        if not (self.parts or self.trail):
            return self.content
        spans = [(part.start, part.end, part) for part in self.parts]
        return TracedText(self.content, spans, self.trail) if self.trail else SourcedText(self.content, spans)

    def with_(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed; parts stay whose text is still in the content."""
        content = changes.get("content") if self.parts or self.trail else None
        if content is not None and "parts" not in changes and type(content) is str:
            if self.trail:
                content = realigned(TracedText(self.content, (), self.trail), content)
            if self.parts:
                content = found_again(self.lore_parts, self.content, content)
            changes["content"] = content
            changes["parts"] = ()
        return replace(self, **changes)

    def disable(self) -> Self:
        """A copy that stays in the plan but not in the prompt."""
        return self.with_(enabled=False)

    def enable(self) -> Self:
        """A copy that is in the prompt."""
        return self.with_(enabled=True)

    def with_priority(self, priority: int) -> Self:
        """A copy with another priority; higher is kept longer."""
        return self.with_(priority=priority)

    def tokens(self, estimator: TokenEstimator | None = None, model_hint: str | None = None) -> int:
        """What the block says, in tokens; what a provider adds around a message is not counted."""
        return message_tokens(self, estimator or default_estimator(), model_hint)

    def to_message(self) -> Message:
        """The message this block becomes."""
        return Message(
            role=self.role,
            content=self.content,
            name=self.name,
            attachments=self.attachments,
            metadata=self.message_metadata,
        )
