"""What a prompt was built from, kept so that it can be built again after everything that it names has changed.

Each document (a card, a lorebook, a preset, the settings, a text) is kept once by the hash of its JSON, compressed;
messages are kept in groups, by the hashes of their texts. What belongs to one prompt alone is small. Pictures and
tokenizer files are named, not kept: they stay as long as messages and providers have them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Attachment, Character, Message, User, __version__
from tavernkit.artifacts import ArtifactVersion, PromptCandidate, Session, is_on_page, read_artifact, write_artifact
from tavernkit.errors import TavernKitError
from tavernkit.extensions import loaded_extensions
from tavernkit.injections import InjectionPosition
from tavernkit.lore import Book
from tavernkit.playground.base.database import models
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.secrets import KeyBox
from tavernkit.playground.story.lorebooks.queries import BooksInPlay, SameBook
from tavernkit.playground.story.presets.queries import KINDS, MODULE, RISUAI, AnyPreset, kind_of
from tavernkit.playground.story.prompting.cast import PromptCast
from tavernkit.playground.story.prompting.inputs import HistoryPictures, PromptInputs, ReplyLimits, WindowedHistory
from tavernkit.playground.story.prompting.presets import Presets
from tavernkit.playground.story.prompting.scripts import OwnScripts
from tavernkit.playground.story.settings_schema.models import StorySettings
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.reading import ReportBuilder
from tavernkit.risuai import RisuSettings
from tavernkit.risuai.module import Module
from tavernkit.sillytavern import PersonaPlace
from tavernkit.sillytavern.groups import CardMode, GroupMember, GroupStrategy, StoryGroup
from tavernkit.sillytavern.presets import ContextTemplate, Instruct, ReasoningTemplate, SystemPrompt
from tavernkit.values import Json, Value

T = TypeVar("T")
W = TypeVar("W", bound=Value)

GROUPED = 16
"""So many messages that stand side by side are kept together, once for all prompts that have them."""

SEALED = "$sealed"
"""Stands, with what it is when it is encrypted, for an artifact that people must not see."""

SHORT = 64
"""A text that is not longer than its hash stands where it is."""

HASH = re.compile(r'"([0-9a-f]{64})"')


class UnreadableInputsError(TavernKitError):
    """What was kept of a prompt cannot be read; the message says what is missing or wrong."""


class KeptDocument(Value, frozen=True, kw_only=True):
    """A document as JSON; whether it names others."""

    written: bytes
    has_parts: bool = False


class InputsRecord(Value, frozen=True, kw_only=True):
    """What a prompt was built from, ready to be written down; documents by their hashes."""

    content: bytes
    documents: Mapping[str, KeptDocument]


class InputsParts(Value, frozen=True, kw_only=True):
    """What kept inputs name by hash: documents, and the bytes of pictures and tokenizers.
    `books` are those that were read already, `keys` open what people must not see."""

    documents: Mapping[str, Json]
    files: Mapping[str, bytes] = {}
    books: dict[str, Book] = {}
    keys: KeyBox | None = None


class WrittenPreset(Value, frozen=True, kw_only=True):
    """A preset: of which kind, and the hash of its document."""

    kind: str
    document: str


class WrittenCard(Value, frozen=True, kw_only=True):
    """A card and the book inside it."""

    card: str
    book: str | None


class WrittenMember(Value, frozen=True, kw_only=True):
    """A member of a group."""

    avatar: str
    character: WrittenCard
    talkativeness: float


class WrittenGroup(Value, frozen=True, kw_only=True):
    """A group and the settings of its chat."""

    cast: tuple[WrittenMember, ...]
    members: tuple[str, ...]
    disabled: tuple[str, ...]
    activation_strategy: GroupStrategy | None
    generation_mode: CardMode
    allow_self_responses: bool
    join_prefix: str
    join_suffix: str
    scenario_override: str
    mes_example_override: str


class WrittenVoice(Value, frozen=True, kw_only=True):
    """The membership that a prompt is about."""

    id: UUID
    kind: str
    character_id: UUID | None
    cached_display_name: str


class WrittenScene(Value, frozen=True, kw_only=True):
    """What seldom changes from prompt to prompt; texts that stand for documents are their hashes."""

    settings: str
    provider: WrittenProvider
    presets: Mapping[str, WrittenPreset]
    modules: tuple[str, ...]
    voice: WrittenVoice
    character: WrittenCard
    file: str
    tags: tuple[str, ...]
    user: User
    persona: PersonaPlace
    group: WrittenGroup | None
    everywhere: tuple[str, ...]
    character_books: tuple[str, ...]
    own: str | None
    chat: tuple[str, ...]
    persona_books: tuple[str, ...]
    missing: tuple[str, ...]
    scripts: str
    global_variables: str
    injections: str


class WrittenAttachment(Value, frozen=True, kw_only=True):
    """A picture of a message, by the hash of its bytes."""

    sha256: str
    media_type: str
    title: str | None = None
    width: int | None = None
    height: int | None = None


class WrittenMessage(Value, frozen=True, kw_only=True):
    """A message; `content` is the hash of its text, or a list with the text."""

    role: str
    content: str | tuple[str, ...]
    name: str | None = None
    date: str | None = None
    metadata: Mapping[str, Json] = {}
    attachments: tuple[WrittenAttachment, ...] = ()


class WrittenProvider(Value, frozen=True, kw_only=True):
    """What a prompt needs to know of its provider: neither its address nor its key."""

    id: UUID
    name: str
    kind: str
    model: str
    context_tokens: int
    response_tokens: int
    settings: Mapping[str, Json]
    streamable: bool
    tokenizer_sha256: str | None
    sees_pictures: str


class WrittenInjection(Value, frozen=True, kw_only=True):
    """A text that somebody put into the prompts of the conversation."""

    name: str
    token: UUID
    content: str
    position: InjectionPosition
    depth: int
    role: str
    scan: bool
    ephemeral: bool
    after_seq: int


class WrittenTarget(Value, frozen=True, kw_only=True):
    """The message that is regenerated or continued."""

    id: UUID
    seq: int
    role: str
    content: str


class WrittenCandidate(Value, frozen=True, kw_only=True):
    """An artifact with its versions; the definition as artifacts are written."""

    session: Session
    definition: Mapping[str, Json]
    versions: tuple[ArtifactVersion, ...]
    order: tuple[int, int]


class WrittenTurn(Value, frozen=True, kw_only=True):
    """What belongs to one prompt; `history` has messages, and the hashes of groups of messages."""

    tavernkit: str
    extensions: tuple[str, ...]
    generation_type: str
    scene: str
    history: tuple[Json, ...]
    length: int
    user_messages: int | None
    state: str
    chat_id: UUID
    now: datetime
    zone: str | None
    seed: int
    until_seq: int
    target: WrittenTarget | None
    continued: bool
    candidates: tuple[str, ...]
    limits: ReplyLimits
    pictures: HistoryPictures


def kept_inputs(inputs: PromptInputs, keys: KeyBox) -> InputsRecord:
    """Everything that the prompt is built from; artifacts that people must not see are sealed."""
    writer = _Writer(keys)
    turn = writer.turn(inputs)
    return InputsRecord(content=zlib.compress(_bytes(msgspec.to_builtins(turn))), documents=writer.documents)


class _Writer:
    """Collects what is named by hash."""

    def __init__(self, keys: KeyBox) -> None:
        self._keys = keys
        self.documents: dict[str, KeptDocument] = {}

    def turn(self, inputs: PromptInputs) -> WrittenTurn:
        target, zone = inputs.replaces, inputs.now.tzinfo
        return WrittenTurn(
            tavernkit=__version__,
            extensions=loaded_extensions(),
            generation_type=inputs.generation_type,
            scene=self._put(self._scene(inputs), has_parts=True),
            history=tuple(self._history(inputs.history)),
            length=len(inputs.history),
            user_messages=inputs.history.user_messages,
            state=self._put(inputs.state),
            chat_id=inputs.chat_id,
            now=inputs.now,
            zone=zone.key if isinstance(zone, ZoneInfo) else None,
            seed=inputs.seed,
            until_seq=inputs.until_seq,
            target=None if target is None else _written(target, WrittenTarget),
            continued=bool(inputs.continued),
            candidates=tuple(map(self._candidate, inputs.candidates)),
            limits=inputs.limits,
            pictures=inputs.pictures,
        )

    def _scene(self, inputs: PromptInputs) -> WrittenScene:
        cast, books, presets, provider = inputs.cast, inputs.books, inputs.presets, inputs.provider
        named = {
            "preset": presets.preset,
            "instruct": presets.instruct,
            "context": presets.context,
            "system_prompt": presets.system_prompt,
            "reasoning": presets.reasoning,
        }
        return WrittenScene(
            settings=self._put(inputs.settings.model_dump(mode="json")),
            provider=_written(provider, WrittenProvider),
            presets={
                name: WrittenPreset(kind=kind_of(preset), document=self._put(preset))
                for name, preset in named.items()
                if preset is not None
            },
            modules=tuple(map(self._put, presets.modules)),
            voice=_written(cast.voice, WrittenVoice),
            character=self._card(cast.character, books.own),
            file=cast.file,
            tags=cast.tags,
            user=cast.user,
            persona=cast.persona,
            group=None if cast.group is None else self._group(cast.group, books.own),
            everywhere=self._books(books.everywhere),
            character_books=self._books(books.character),
            own=None if books.own is None else self._book(books.own),
            chat=self._books(books.chat),
            persona_books=self._books(books.persona),
            missing=inputs.missing,
            scripts=self._put(inputs.scripts),
            global_variables=self._put(inputs.global_variables),
            injections=self._put([_written(row, WrittenInjection) for row in inputs.injections]),
        )

    def _group(self, group: StoryGroup, own: Book | None) -> WrittenGroup:
        fields = {name: getattr(group, name) for name in group.__struct_fields__}
        cast = tuple(
            WrittenMember(
                avatar=member.avatar,
                character=self._card(member.character, own),
                talkativeness=member.talkativeness,
            )
            for member in group.cast
        )
        return WrittenGroup(**{**fields, "cast": cast, "disabled": tuple(sorted(group.disabled))})

    def _card(self, character: Character, own: Book | None) -> WrittenCard:
        """A card; its book is written once where it is the one that is in use already."""
        book = character.character_book
        if book is not None and book == own:
            book = own
        return WrittenCard(
            card=self._put(character.with_(character_book=None)), book=None if book is None else self._book(book)
        )

    def _books(self, books: Iterable[Book]) -> tuple[str, ...]:
        return tuple(map(self._book, books))

    def _book(self, book: Book) -> str:
        key, written = _book_document(SameBook(book))
        self.documents[key] = KeptDocument(written=written)
        return key

    def _candidate(self, candidate: PromptCandidate) -> str:
        written = WrittenCandidate(
            session=candidate.artifact.session,
            definition=write_artifact(candidate.artifact),
            versions=candidate.versions,
            order=candidate.order,
        )
        if is_on_page(candidate.artifact.visibility):
            return self._put(written)
        # What is for the model alone can be read nowhere: not in the database, and not in a backup of it.
        text = json.dumps(msgspec.to_builtins(written, enc_hook=_as_text))
        key = hashlib.sha256(text.encode()).hexdigest()
        sealed = self._keys.encrypt(text, _row_of(key))
        self.documents[key] = KeptDocument(written=_bytes({SEALED: b64encode(sealed).decode()}))
        return key

    def _history(self, history: WindowedHistory) -> Iterator[Json]:
        """The messages; those that fill a group, by its place in the whole chat, as the hash of the group."""
        messages = list(history)
        first, group = len(history) - len(messages), list[Json]()
        for place, message in enumerate(messages, start=first + 1):
            group.append(self._message(message))
            if place % GROUPED == 0 or place == first + len(messages):
                if len(group) == GROUPED:
                    yield self._put(group, has_parts=True)
                else:
                    yield from group
                group = []

    def _message(self, message: Message) -> WrittenMessage:
        return WrittenMessage(
            role=message.role,
            content=self._text(message.content),
            name=message.name,
            date=None if message.send_date is None else str(message.send_date),
            metadata=message.metadata,
            attachments=tuple(
                WrittenAttachment(
                    sha256=hashlib.sha256(one.data or b"").hexdigest(),
                    media_type=one.mime_type,
                    title=one.name,
                    width=one.width,
                    height=one.height,
                )
                for one in message.attachments
            ),
        )

    def _text(self, text: str) -> str | tuple[str, ...]:
        return (text,) if len(text) <= SHORT else self._put(text)

    def _put(self, value: object, *, has_parts: bool = False) -> str:
        key, written = _document(value)
        self.documents[key] = KeptDocument(written=written, has_parts=has_parts)
        return key


def _written(row: object, kind: type[W]) -> W:
    """The fields of a row that are kept."""
    return kind(**{name: getattr(row, name) for name in kind.__struct_fields__})


def _document(value: object) -> tuple[str, bytes]:
    """A document's hash, and its JSON."""
    written = _bytes(msgspec.to_builtins(value, enc_hook=_as_text))
    return hashlib.sha256(written).hexdigest(), written


@lru_cache(maxsize=16)
def _book_document(same: SameBook) -> tuple[str, bytes]:
    """The document of a lorebook, made once for each version of it: it may be larger than all else."""
    return _document(same.book)


def _row_of(key: str) -> UUID:
    """What a sealed document is bound to."""
    return UUID(hex=key[:32])


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")


def _bytes(value: Json) -> bytes:
    """JSON in which texts may have half a surrogate pair, and numbers may be infinite."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unpacked(content: bytes) -> str:
    """The JSON of kept inputs, or of a document."""
    return zlib.decompress(content).decode("utf-8", "surrogatepass")


async def keep_inputs(session: AsyncSession, run_id: UUID, record: InputsRecord) -> None:
    """Write down what the prompt of a run was built from,; the prompt is written already."""
    query = select(models.InputDocument.sha256).where(models.InputDocument.sha256.in_(record.documents))
    known = set(await session.scalars(query))
    new = {key: document for key, document in sorted(record.documents.items()) if key not in known}
    missing = await asyncio.to_thread(_rows, new)
    if missing:
        insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
        await session.execute(insert(models.InputDocument).on_conflict_do_nothing(), missing)
    await session.merge(models.PromptInputRecord(run_id=run_id, content=record.content))


def _rows(documents: Mapping[str, KeptDocument]) -> list[dict[str, Any]]:
    return [
        {"sha256": key, "content": zlib.compress(document.written), "has_parts": document.has_parts}
        for key, document in documents.items()
    ]


async def hashes_in(session: AsyncSession, contents: Iterable[bytes]) -> set[str]:
    """The documents that kept inputs name, and those that these name."""
    found = {key for content in contents for key in HASH.findall(unpacked(content))}
    query = select(models.InputDocument.content).where(
        models.InputDocument.sha256.in_(found), models.InputDocument.has_parts
    )
    for content in await session.scalars(query):
        found.update(HASH.findall(unpacked(content)))
    return found


class KnownParts(Value, frozen=True, kw_only=True):
    """What was read for one prompt, and need not be read for the next."""

    documents: dict[str, Json] = {}
    books: dict[str, Book] = {}


async def read_kept(
    session: AsyncSession, run_id: UUID, keys: KeyBox, known: KnownParts | None = None
) -> tuple[WrittenTurn, InputsParts] | None:
    """What the prompt of a run was built from; None where it was not kept."""
    row = await session.get(models.PromptInputRecord, run_id)
    if row is None:
        return None
    named = await hashes_in(session, [row.content])
    documents = {} if known is None else known.documents
    document, blob = models.InputDocument, models.Blob
    missing = named - documents.keys()
    for key, content in await session.execute(
        select(document.sha256, document.content).where(document.sha256.in_(missing))
    ):
        documents[key] = json.loads(unpacked(content))
    files = await session.execute(select(blob.sha256, blob.data).where(blob.sha256.in_(named - documents.keys())))
    parts = InputsParts(
        documents=documents,
        files={row.sha256: row.data for row in files},
        books={} if known is None else known.books,
        keys=keys,
    )
    return turn_from(json.loads(unpacked(row.content))), parts


def turn_from(written: Json) -> WrittenTurn:
    """Kept inputs, read from JSON; raises UnreadableInputsError."""
    return _read(written, WrittenTurn)


def provider_of(turn: WrittenTurn, parts: InputsParts) -> models.Provider:
    """The provider that the prompt was for, without its address and key."""
    scene = _Reader(parts).document(turn.scene, WrittenScene)
    return models.Provider(**msgspec.structs.asdict(scene.provider))


def inputs_from(turn: WrittenTurn, parts: InputsParts, estimator: TokenEstimator) -> PromptInputs:
    """What the prompt was built from; raises UnreadableInputsError, also where something of it is gone."""
    reader = _Reader(parts)
    scene = reader.document(turn.scene, WrittenScene)
    target = turn.target
    books = BooksInPlay(
        everywhere=reader.books(scene.everywhere),
        character=reader.books(scene.character_books),
        own=None if scene.own is None else reader.book(scene.own),
        chat=reader.books(scene.chat),
        persona=reader.books(scene.persona_books),
        missing=scene.missing,
    )
    return PromptInputs(
        generation_type=turn.generation_type,
        settings=reader.settings(scene.settings),
        provider=models.Provider(**msgspec.structs.asdict(scene.provider)),
        presets=reader.presets(scene),
        cast=PromptCast(
            voice=models.SpaceMembership(**msgspec.structs.asdict(scene.voice)),
            character=reader.card(scene.character),
            file=scene.file,
            tags=scene.tags,
            user=scene.user,
            persona=scene.persona,
            group=None if scene.group is None else reader.group(scene.group),
        ),
        books=books,
        history=WindowedHistory(reader.messages(turn.history), length=turn.length, user_messages=turn.user_messages),
        state=dict(reader.document(turn.state, dict[str, Any])),
        global_variables=reader.document(scene.global_variables, dict[str, Any]),
        chat_id=turn.chat_id,
        now=turn.now if turn.zone is None else turn.now.astimezone(ZoneInfo(turn.zone)),
        seed=turn.seed,
        until_seq=turn.until_seq,
        estimator=estimator,
        replaces=None if target is None else _message_row(target),
        continued=target.content if turn.continued and target is not None else "",
        candidates=tuple(map(reader.candidate, turn.candidates)),
        injections=tuple(
            models.ConversationInjection(**msgspec.structs.asdict(one))
            for one in reader.document(scene.injections, tuple[WrittenInjection, ...])
        ),
        limits=turn.limits,
        scripts=reader.document(scene.scripts, OwnScripts),
        pictures=turn.pictures,
    )


class _Reader:
    """Puts what is named by hash where it belongs."""

    def __init__(self, parts: InputsParts) -> None:
        self._parts = parts

    def document(self, key: str, kind: type[T]) -> T:
        return _read(_found(self._parts.documents, key), kind)

    def settings(self, key: str) -> StorySettings:
        written = json.dumps(_found(self._parts.documents, key))
        try:
            return StorySettings.model_validate_json(written)
        except ValidationError as error:
            raise UnreadableInputsError(f"The settings were kept by a version that has other ones: {error}") from error

    def presets(self, scene: WrittenScene) -> Presets:
        found = {name: self._preset(written) for name, written in scene.presets.items()}
        return Presets(
            preset=found.get("preset"),
            instruct=_one(found.get("instruct"), Instruct),
            context=_one(found.get("context"), ContextTemplate),
            system_prompt=_one(found.get("system_prompt"), SystemPrompt),
            reasoning=_one(found.get("reasoning"), ReasoningTemplate),
            modules=tuple(self.document(key, Module) for key in scene.modules),
        )

    def _preset(self, written: WrittenPreset) -> AnyPreset:
        kinds: Mapping[str, type[AnyPreset]] = {**KINDS, RISUAI: RisuSettings, MODULE: Module}
        return self.document(written.document, _found(kinds, written.kind))

    def card(self, written: WrittenCard) -> Character:
        card = self.document(written.card, Character)
        return card if written.book is None else card.with_(character_book=self.book(written.book))

    def group(self, written: WrittenGroup) -> StoryGroup:
        fields = {name: getattr(written, name) for name in written.__struct_fields__}
        cast = tuple(
            GroupMember(avatar=member.avatar, character=self.card(member.character), talkativeness=member.talkativeness)
            for member in written.cast
        )
        return StoryGroup(**{**fields, "cast": cast, "disabled": frozenset(written.disabled)})

    def books(self, keys: Iterable[str]) -> tuple[Book, ...]:
        return tuple(map(self.book, keys))

    def book(self, key: str) -> Book:
        """The book of that hash, the same one each time: what is known of a book is known by what it is."""
        books = self._parts.books
        if key not in books:
            books[key] = self.document(key, Book)
        return books[key]

    def candidate(self, key: str) -> PromptCandidate:
        written = _read(self._unsealed(key), WrittenCandidate)
        artifact = read_artifact(written.definition, written.session, ReportBuilder())
        return PromptCandidate(artifact=artifact, versions=written.versions, order=written.order)

    def _unsealed(self, key: str) -> Json:
        """A document that may be sealed."""
        document, keys = _found(self._parts.documents, key), self._parts.keys
        sealed = document.get(SEALED) if isinstance(document, dict) else None
        if not isinstance(sealed, str):
            return document
        text = None if keys is None else keys.decrypt(b64decode(sealed), _row_of(key))
        if text is None:
            raise UnreadableInputsError(
                _("The prompt has artifacts that people must not see. Only the server that was told them can build it.")
            )
        return json.loads(text)

    def messages(self, written: Sequence[Json]) -> Iterator[Message]:
        for one in written:
            if isinstance(one, str):
                yield from self.messages(self.document(one, list[Any]))
            else:
                yield self._message(_read(one, WrittenMessage))

    def _message(self, written: WrittenMessage) -> Message:
        content = written.content
        return Message(
            role=written.role,
            content=self.document(content, str) if isinstance(content, str) else "".join(content),
            name=written.name,
            send_date=written.date,
            metadata=written.metadata,
            attachments=tuple(map(self._attachment, written.attachments)),
        )

    def _attachment(self, written: WrittenAttachment) -> Attachment:
        data = self._parts.files.get(written.sha256)
        if data is None:
            name = written.title or written.sha256[:8]
            sentence = _("The picture {name} was deleted. The prompt cannot be built without it.", name=name)
            raise UnreadableInputsError(sentence)
        return Attachment(
            mime_type=written.media_type,
            data=data,
            name=written.title,
            width=written.width,
            height=written.height,
        )


def _found(table: Mapping[str, T], key: str) -> T:
    if key not in table:
        raise UnreadableInputsError(f"A part of what was kept is missing ({key[:8]}).")
    return table[key]


def _read(written: Json, kind: type[T]) -> T:
    try:
        return msgspec.convert(written, kind, dec_hook=_from_text)
    except msgspec.ValidationError as error:
        raise UnreadableInputsError(
            f"A {kind.__name__} was kept in a form that this version does not read: {error}"
        ) from error


def _from_text(kind: type, written: object) -> object:
    return written if kind is object else kind(written)


def _one(found: AnyPreset | None, kind: type[T]) -> T | None:
    return found if isinstance(found, kind) else None


def _message_row(target: WrittenTarget) -> models.Message:
    text = models.TextContent(content=target.content)
    return models.Message(id=target.id, seq=target.seq, role=target.role, text=text)
