"""Where the characters of a prompt come from: the sources that a traced build names, and what it says of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from tavernkit.prompt.reasons import EntryCount, EvictedBlock, ExplainedEntry, Facts, UnsentPrompt
from tavernkit.prompt.reasons import LoreCause as LoreCause
from tavernkit.values import JsonObject, Value


class KeyFound(Value, frozen=True, kw_only=True, omit_defaults=True):
    """Where the key of a lore entry stood: at an `offset` of a `message` of the chat, in the content of another
    `entry` of a `book`, or in another `text`, such as the persona."""

    message: int | None = None
    offset: int | None = None
    text: str = ""
    entry: str = ""
    book: str = ""

    def __str__(self) -> str:
        if self.message is None:
            return f"the entry {self.entry} of {self.book}" if self.entry else self.text
        return f"message {self.message}" if self.offset is None else f"message {self.message} at {self.offset}"


class TextSource(Value, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, gc=False):
    """The base of all sources. `through` are the macro calls and regex rules that brought the text here, the innermost
    first."""

    through: tuple[FromMacro | FromRegex, ...] = ()

    @property
    def kind(self) -> str:
        """What kind of source it is, in one word."""
        return str(self.__struct_config__.tag)

    @property
    def is_precise(self) -> bool:
        """Whether more is known than which block of the prompt it is."""
        return True

    @property
    def sentence(self) -> str:
        """What it is, in words, without what brought it here."""
        return self.kind

    def __str__(self) -> str:
        return ", through ".join([self.sentence, *map(str, self.through)])

    def named(self) -> Iterator[TextSource]:
        """The source itself, and all that it names."""
        yield self
        for step in self.through:
            yield from step.named()


class FromCard(TextSource, frozen=True, kw_only=True, tag="card"):
    """A field of a character's card; `version` is the card's own."""

    character: str
    field: str
    version: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.field} of {self.character}" + (f" (version {self.version})" if self.version else "")


class FromPersona(TextSource, frozen=True, kw_only=True, tag="persona"):
    """What the user says of themselves, or the `field` of that name."""

    user: str
    field: str = "persona"

    @property
    def sentence(self) -> str:
        return f"persona of {self.user}" if self.field == "persona" else f"{self.field} of {self.user}"


class FromPreset(TextSource, frozen=True, kw_only=True, tag="preset"):
    """A prompt of the preset by its identifier, or a field of the preset by its name; `name` is what people call it."""

    prompt: str
    name: str = ""

    @property
    def sentence(self) -> str:
        return f"preset: {self.name} ({self.prompt})" if self.name else f"preset: {self.prompt}"


class FromTemplate(TextSource, frozen=True, kw_only=True, tag="template"):
    """What the platform writes around and between texts: instruct sequences, the story string, names, separators."""

    what: str

    @property
    def sentence(self) -> str:
        return f"template: {self.what}"


class FromChat(TextSource, frozen=True, kw_only=True, tag="chat"):
    """What the chat itself has been given: its note, its own scenario, a quiet prompt, a memory."""

    field: str

    @property
    def sentence(self) -> str:
        return f"{self.field} of the chat"


class FromInjection(TextSource, frozen=True, kw_only=True, tag="injection"):
    """A text that an extension or the application puts in under a name."""

    id: str

    @property
    def sentence(self) -> str:
        return f"injection {self.id}"


class FromLore(TextSource, frozen=True, kw_only=True, tag="lore"):
    """A lore entry; `cause`, `key` and `found` say why it is in the prompt."""

    book: str
    entry: str
    name: str = ""
    cause: LoreCause | None = None
    key: str | None = None
    found: KeyFound | None = None

    @property
    def sentence(self) -> str:
        told = f"lore: {self.name or self.entry} of {self.book}" if self.book else f"lore: {self.name or self.entry}"
        if self.key is None:
            return f"{told} ({self.cause})" if self.cause else told
        return f"{told} (“{self.key}”{'' if self.found is None else f' in {self.found}'})"


class FromHistory(TextSource, frozen=True, kw_only=True, tag="history"):
    """A message by its place in the whole chat; `swipe` is which of its variants, `part` what of it if not its text."""

    message: int
    swipe: int | None = None
    part: str = ""

    @property
    def sentence(self) -> str:
        told = f"message {self.message}" if self.swipe is None else f"message {self.message}, swipe {self.swipe}"
        return f"{told}, {self.part}" if self.part else told


class FromArtifact(TextSource, frozen=True, kw_only=True, tag="artifact"):
    """An artifact of the story in one of its versions."""

    artifact: str
    version: int | None = None

    @property
    def sentence(self) -> str:
        return f"artifact {self.artifact}" + ("" if self.version is None else f", version {self.version}")


class FromMacro(TextSource, frozen=True, kw_only=True, tag="macro"):
    """What a macro has answered. `inside` is the text that the call stands in, `of` the sources of its arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    inside: AnySource | None = None
    of: tuple[AnySource, ...] = ()

    def named(self) -> Iterator[TextSource]:
        yield from super().named()
        for source in (self.inside, *self.of):
            if source is not None:
                yield from source.named()

    @property
    def sentence(self) -> str:
        call = "::".join((self.name, *self.arguments))
        return f"{{{{{call}}}}}" if self.inside is None else f"{{{{{call}}}}} in {self.inside}"


class FromRegex(TextSource, frozen=True, kw_only=True, tag="regex"):
    """What a regex rule has put in; `inside` is the text that it has changed."""

    script: str
    inside: AnySource | None = None

    def named(self) -> Iterator[TextSource]:
        yield from super().named()
        if self.inside is not None:
            yield from self.inside.named()

    @property
    def sentence(self) -> str:
        return f"regex {self.script}" if self.inside is None else f"regex {self.script} in {self.inside}"


class FromTrigger(TextSource, frozen=True, kw_only=True, tag="trigger"):
    """What a trigger of RisuAI has said."""

    place: str

    @property
    def sentence(self) -> str:
        return f"trigger: {self.place}"


class FromBlock(TextSource, frozen=True, kw_only=True, tag="block"):
    """A block of which nothing is known but the stage that made it and its own source."""

    stage: str = ""
    id: str = ""

    @property
    def is_precise(self) -> bool:
        return False

    @property
    def sentence(self) -> str:
        return f"block {self.id} of the stage {self.stage}"


AnySource: TypeAlias = (
    FromCard
    | FromPersona
    | FromPreset
    | FromTemplate
    | FromChat
    | FromInjection
    | FromLore
    | FromHistory
    | FromArtifact
    | FromMacro
    | FromRegex
    | FromTrigger
    | FromBlock
)

PassedThrough: TypeAlias = FromMacro | FromRegex
SourceSpan: TypeAlias = tuple[int, int, AnySource]
"""The characters from a place up to another, and where they come from."""


class ExplainedSpan(Value, frozen=True, kw_only=True):
    """A stretch of a message, and where it comes from."""

    text: str
    source: AnySource


class ExplainedMessage(Value, frozen=True, kw_only=True):
    """A message of the request; the texts of its spans, one after the other, are its content."""

    role: str
    content: str
    spans: tuple[ExplainedSpan, ...]


class Coverage(Value, frozen=True, kw_only=True):
    """How many characters have a source of their own, and of how many only the block is known."""

    precise: int
    by_block: int

    @property
    def share(self) -> float:
        """The share of characters with a source of their own."""
        total = self.precise + self.by_block
        return self.precise / total if total else 1.0

    def __str__(self) -> str:
        return f"{self.share:.1%} of {self.precise + self.by_block:,} characters have a source of their own."


class Explanation(Value, frozen=True, kw_only=True):
    """Where every character of a request comes from, and why others are not in it.

    `lore` has a verdict for each entry of the lorebooks, as far as they are listed; `lore_cut` counts the others.
    `evicted` are the blocks that are not sent, `off` the prompts of the preset that made none. `facts` are what
    `tavernkit.prompt.comparing` names causes by.
    """

    messages: tuple[ExplainedMessage, ...]
    lore: tuple[ExplainedEntry, ...] = ()
    lore_cut: tuple[EntryCount, ...] = ()
    evicted: tuple[EvictedBlock, ...] = ()
    off: tuple[UnsentPrompt, ...] = ()
    facts: Facts = {}

    @property
    def coverage(self) -> Coverage:
        """How much of it is known how well."""
        counts = {True: 0, False: 0}
        for message in self.messages:
            for span in message.spans:
                counts[span.source.is_precise] += len(span.text)
        return Coverage(precise=counts[True], by_block=counts[False])

    def to_dict(self) -> JsonObject:
        """The explanation as JSON has it."""
        written: JsonObject = msgspec.to_builtins(self)
        return written
