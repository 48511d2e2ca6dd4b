"""Prompts that are kept: as documents in pieces, each once however many prompts it stands in."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Attachment, LoreVerdict, Plan
from tavernkit.artifacts import redacted_blocks
from tavernkit.playground.base.database.models import PromptPiece, PromptSnapshot, Run, SiteSetting
from tavernkit.playground.base.languages import ngettext
from tavernkit.playground.base.llm.base import ChatRequest
from tavernkit.playground.base.llm.kinds import dialect_of
from tavernkit.playground.base.llm.secrets import KeyBox
from tavernkit.playground.base.pieces import Packed, packed
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.story.prompting.building import BuiltPrompt, model_request
from tavernkit.playground.story.prompting.inputs import (
    MAX_SENT_BYTES,
    MAX_SENT_PICTURES,
    MESSAGE_ID,
    SWIPE_ID,
    PromptInputs,
)
from tavernkit.playground.story.prompting.inputs_kept import InputsRecord, keep_inputs, kept_inputs
from tavernkit.playground.story.prompting.on_risuai import card_of, lore_of
from tavernkit.playground.story.prompting.presets import PRESET
from tavernkit.playground.story.prompting.rows import LoreRow, MessageRow, PromptRows
from tavernkit.playground.story.prompting.scripts import ScriptPlace, places_in
from tavernkit.prompt.block import Block
from tavernkit.prompt.plan import fingerprint
from tavernkit.prompt.reasons import ExplainedEntry, Facts, NearMiss
from tavernkit.prompt.sources import Explanation, FromHistory, FromLore
from tavernkit.prompt.tokens import attachment_tokens
from tavernkit.prompt.trimming import TrimReport
from tavernkit.risuai import RisuSettings
from tavernkit.sillytavern.presets import ChatPreset
from tavernkit.values import Json, JsonObject, Value

OMITTED = "pictures_omitted"
"""The warning about pictures that a model did not get; and where a run that has ended well says how many."""

NOT_SHARED = "not_shared"
"""The warning about characters, lorebooks and presets that are not shared with the space."""

LORE = "lore"
"""Where a run that has ended well says how many entries of lorebooks were in its prompt."""

ACTIVATION_FIELDS = ("book", "entry", "name")
VERDICT_FIELDS = (*ACTIVATION_FIELDS, "sentence")
ACTIVATED = "activated"
"""The reason of every entry that is in the prompt, also where it stands inside another."""

SENTENCE_BEGINS = "sentence_begins"
"""Where the sentence about an entry is kept without its end, which its near miss says."""

MOST_VERDICTS = 200
"""Of how many entries of lorebooks a prompt tells why they are in it, or why not."""


REUSE = "reuse"
"""Where the report of a prompt says what it has in common with the one before."""


class KeptReuse(Value, frozen=True, kw_only=True):
    """What a prompt has in common with the one of the run `before`, and what broke it: a `PrefixBreak` as JSON."""

    before: UUID
    common_tokens: int
    total_tokens: int
    share: float
    broken_by: JsonObject | None


SWEPT = "prompt_blocks_swept"
"""The setting that is there while no block can be unused; its value is the sweep that found out."""

LOCK = 0x74617665726E01
"""Of PostgreSQL: shared by who writes a prompt, exclusive for who removes blocks. SQLite has one writer anyway."""


async def while_blocks_stay(session: AsyncSession) -> None:
    """Let nobody remove blocks until this transaction ends: what it finds is there when its prompt is committed."""
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(select(func.pg_advisory_xact_lock_shared(LOCK)))


async def note_removed_prompts(session: AsyncSession) -> None:
    """Have the blocks looked through, once this transaction is committed."""
    await session.execute(
        delete(SiteSetting).where(SiteSetting.key == SWEPT), execution_options={"synchronize_session": False}
    )


class PromptDocument(Value, frozen=True, kw_only=True):
    """A prompt as it is kept: its blocks with their texts, the request, what is worth knowing about how it came about,
    and where its characters come from, if that was followed, with the rows that are named there. `lore_places` say
    which entries of the explanation the report lists, if it says the same of them."""

    blocks: list[JsonObject]
    request: JsonObject
    report: JsonObject
    explanation: JsonObject | None = None
    rows: PromptRows = PromptRows()
    lore_places: tuple[int, ...] | None = None

    def with_reuse(self, report: JsonObject) -> PromptDocument:
        """With what is kept beside it of what it has in common with the prompt before."""
        return self.with_(report={**self.report, REUSE: report[REUSE]}) if REUSE in report else self


class PromptRecord(Value, frozen=True, kw_only=True):
    """A prompt, ready to be written down; `report` is what is asked of many prompts at once, `reuse` what it has in
    common with the one before. `inputs` is what it was built from, where it is to be built again."""

    packed: Packed
    report: dict[str, Any]
    fingerprint: str
    inputs: InputsRecord | None = None
    reuse: KeptReuse | None = None

    def with_inputs(self, prompt: BuiltPrompt, keys: KeyBox) -> PromptRecord:
        """The same, with what the prompt was built from."""
        return self.with_(inputs=kept_inputs(prompt.inputs, keys))


def document_of(prompt: BuiltPrompt) -> PromptDocument:
    """Everything that was sent, and what is worth knowing about how it came about; no keys, no addresses, and of
    artifacts that people must not see only a hash."""
    plan, provider = prompt.plan, prompt.inputs.provider
    estimate = prompt.inputs.estimator.estimate
    shown = plan.with_(blocks=redacted_blocks(plan.blocks))
    request = prompt.request
    if shown.blocks != plan.blocks:
        request = model_request(prompt.inputs, shown, has_samplers=prompt.chosen.has_samplers)
    explanation = explanation_of(prompt) if prompt.is_traced else None
    lore = _lore(prompt.built.result.lore)
    return PromptDocument(
        blocks=[
            {
                "content": storable(visible.content),
                "role": block.role,
                "name": None if block.name is None else storable(block.name),
                "slot": block.slot,
                "source": presentable(dict(block.source)),
                "lore": _entries_in(block),
                "tokens": estimate(block.content, provider.model) + sum(map(attachment_tokens, block.attachments)),
                "pictures": [_picture(one) for one in block.attachments],
            }
            for block, visible in zip(plan.enabled_blocks, shown.enabled_blocks, strict=True)
        ],
        request={
            "provider": provider.name,
            "kind": provider.kind,
            "dialect": dialect_of(provider),
            "generation_type": prompt.inputs.generation_type,
            **{name: _without_pictures(value, _placeholders(plan)) for name, value in _sent(request).items()},
        },
        report={
            "trimming": None if plan.trim_report is None else _trimming(plan.trim_report),
            "warnings": [
                {"code": warning.code, "message": storable(warning.message), "stage": warning.stage}
                for warning in plan.warnings
            ]
            + [{"code": OMITTED, "message": str(sentence), "stage": None} for sentence in omission_sentences(prompt)]
            + [{"code": NOT_SHARED, "message": str(sentence), "stage": None} for sentence in prompt.inputs.missing],
            LORE: lore,
            "platform": prompt.platform,
            "stages": [{"name": stage.name, "duration_ms": round(stage.duration_ms, 3)} for stage in prompt.stages],
        },
        explanation=None if explanation is None else kept_form(explanation),
        rows=PromptRows() if explanation is None else rows_of(prompt, explanation),
        lore_places=None if explanation is None else _places(lore, explanation),
    )


def _places(lore: Sequence[Mapping[str, Json]], explanation: Explanation) -> tuple[int, ...] | None:
    """Where the verdicts of a report stand in an explanation, if it says the same."""
    places = {(entry.book, entry.entry): place for place, entry in enumerate(explanation.lore)}
    found = tuple(places.get((str(one["book"]), str(one["entry"])), -1) for one in lore)
    is_same = -1 not in found and list(lore) == lore_in_report(explanation, found)
    return found if is_same else None


def explanation_of(prompt: BuiltPrompt) -> Explanation:
    """Where the characters of a prompt come from; of artifacts that people must not see, only a hash."""
    plan = prompt.plan
    return prompt.built.with_(plan=plan.with_(blocks=redacted_blocks(plan.blocks))).explain()


def record_of(prompt: BuiltPrompt, document: PromptDocument | None = None) -> PromptRecord:
    """The prompt, as it is written down; its document is made if it is not there."""
    verdicts = (verdict for verdict in prompt.built.result.lore if verdict.is_activated)
    return PromptRecord(
        packed=packed(_kept_document(document or document_of(prompt))),
        report={"platform": prompt.platform, "lore": [_verdict(one, ACTIVATION_FIELDS) for one in verdicts]},
        fingerprint=fingerprint_of(prompt),
    )


def _kept_document(document: PromptDocument) -> JsonObject:
    """The document without what its explanation says as well."""
    if document.lore_places is not None:
        document = document.with_(report={name: value for name, value in document.report.items() if name != LORE})
    kept: JsonObject = msgspec.to_builtins(document)
    return kept


def fingerprint_of(prompt: BuiltPrompt) -> str:
    """The same for the same request."""
    return fingerprint(_sent(prompt.request))


def kept_form(explanation: Explanation) -> JsonObject:
    """The explanation as JSON in which a span has the length of its text instead of the text.

    What follows from the rest is left out where it would be different in each prompt: how far back a key stood, the
    sentence about that, the numbers of blocks, and by how much all that stands behind something did not fit.
    """
    written: dict[str, Any] = dict(explanation.to_dict())
    written["messages"] = [
        {**message, "spans": [{**span, "text": len(span["text"])} for span in message["spans"]]}
        for message in written["messages"]
    ]
    length = length_of(explanation.facts)
    for entry, known in zip(written.get("lore", ()), explanation.lore, strict=True):
        if known.near_miss is not None and known.sentence.endswith(str(known.near_miss)):
            entry[SENTENCE_BEGINS] = entry.pop("sentence").removesuffix(str(known.near_miss))
            if _reaches_back(known.near_miss, length):
                del entry["near_miss"]["depth"]
    evicted = written.get("evicted", [])
    for place, (first, second) in enumerate(pairwise(explanation.evicted)):
        if first.short_by is not None and first.short_by == first.tokens + (second.short_by or 0):
            evicted[place]["short_by"] = 0
        if second.id == following_id(first.id):
            del evicted[place + 1]["id"]
    return written


def following_id(id: str) -> str:
    """The number of the block behind the one with this number."""
    return f"b{int(id[1:]) + 1}" if id[1:].isdecimal() else id


def length_of(facts: Facts) -> int:
    """How many messages the chat had, as the facts of a prompt say."""
    return int(facts.get("history", {}).get("messages", 0))


def _reaches_back(miss: NearMiss, length: int) -> bool:
    """Whether the depth that is missing is the one of the message, counted from the end."""
    return miss.kind == "depth" and miss.message is not None and miss.depth == length - miss.message


def rows_of(prompt: BuiltPrompt, explanation: Explanation) -> PromptRows:
    """The rows that the sources of a prompt are."""
    inputs = prompt.inputs
    named = {source for message in explanation.messages for span in message.spans for source in span.source.named()}
    told = {source.message for source in named if isinstance(source, FromHistory)}
    lore = {(source.book, source.entry) for source in named if isinstance(source, FromLore)}
    books = {book for book, _ in lore}
    is_risuai, stored = prompt.platform == "risuai", inputs.presets.preset
    return PromptRows(
        characters=inputs.cast.ids,
        books={} if is_risuai else {book: id for book, id in inputs.books.ids.items() if book in books},
        card_books=_card_books(inputs, is_risuai=is_risuai),
        entries=tuple(one for one in _entries_on_risuai(inputs) if (one.book, one.entry) in lore) if is_risuai else (),
        presets=_presets(prompt),
        prompts=tuple(one.identifier for one in stored.prompts) if isinstance(stored, ChatPreset) else (),
        persona_id=inputs.cast.persona_id,
        messages=tuple(one for one in _messages(inputs) if one.place in told),
        scripts=_scripts(prompt),
        artifacts={
            one.artifact.tag: one.artifact.id
            for one in inputs.candidates
            if one.artifact.tag and one.artifact.access == "persisted"
        },
    )


def _messages(inputs: PromptInputs) -> Iterator[MessageRow]:
    window = list(inputs.history)
    for place, message in enumerate(window, start=len(inputs.history) - len(window)):
        swipe_id = message.metadata.get(SWIPE_ID)
        yield MessageRow(
            place=place,
            message_id=UUID(str(message.metadata[MESSAGE_ID])),
            swipe_id=None if swipe_id is None else UUID(str(swipe_id)),
        )


def _card_books(inputs: PromptInputs, *, is_risuai: bool) -> dict[str, UUID]:
    """The book in the speaker's card, under the name that the platform gives it."""
    own, id = inputs.books.own, inputs.cast.voice.character_id
    if own is None or id is None:
        return {}
    if is_risuai:
        return {inputs.cast.character.name: id}
    name = own.name or f"(character book {len(inputs.books.character) + 1})"
    return {} if name in inputs.books.ids else {name: id}


def _entries_on_risuai(inputs: PromptInputs) -> Iterator[LoreRow]:
    """The entries of lorebooks, which are the chat's there, and numbered behind those of the card."""
    before = len(card_of(inputs).lore)
    for book in lore_of(inputs):
        lorebook_id = inputs.books.ids.get(str(book.name))
        for number, entry in enumerate(book.entries, start=before):
            if lorebook_id is not None:
                yield LoreRow(book="chat", entry=str(number), lorebook_id=lorebook_id, uid=entry.id)
        before += len(book.entries)


def _presets(prompt: BuiltPrompt) -> dict[str, UUID]:
    """The stored presets that count, by what they are; a preset of another kind of completion does not."""
    presets, chosen = prompt.inputs.presets, prompt.chosen
    counts = (
        isinstance(presets.preset, RisuSettings | ChatPreset) if prompt.platform == "risuai" else chosen.has_samplers
    )
    return {kind: id for kind, id in presets.ids.items() if kind != PRESET or counts}


def _scripts(prompt: BuiltPrompt) -> tuple[ScriptPlace, ...]:
    """The scripts whose name only one of those in use has."""
    inputs = prompt.inputs
    places = [*inputs.scripts.places]
    id, preset_id = inputs.cast.voice.character_id, _presets(prompt).get(PRESET)
    if prompt.platform == "sillytavern":
        if id is not None:
            places += places_in(inputs.cast.character.extensions, "character", id)
        if preset_id is not None:
            places += places_in(prompt.chosen.preset.extensions, "preset", preset_id)
    places = [place for place in places if place.kind == prompt.platform]
    count = Counter(place.name for place in places)
    return tuple(place for place in places if count[place.name] == 1)


def lore_in(prompt: BuiltPrompt) -> int:
    """How many entries of lorebooks are in the prompt."""
    return sum(verdict.is_activated for verdict in prompt.built.result.lore)


async def keep_prompt(session: AsyncSession, run_id: UUID, record: PromptRecord, now: datetime) -> None:
    """Write the prompt of a run down, behind everything else that this transaction locks.

    Whoever waits here for a text that another transaction is just writing then holds nothing that the other one needs.
    """
    await while_blocks_stay(session)
    pieces = record.packed.pieces
    known = set(await session.scalars(select(PromptPiece.key).where(PromptPiece.key.in_(pieces))))
    missing = [
        {"key": key, "links": piece.links, "data": piece.data}
        for key, piece in sorted(pieces.items())
        if key not in known
    ]
    if missing:
        insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
        await session.execute(insert(PromptPiece).on_conflict_do_nothing(), missing)
    found = record.reuse
    snapshot = PromptSnapshot(
        run_id=run_id,
        root=record.packed.root,
        report=record.report if found is None else {**record.report, REUSE: presentable(msgspec.to_builtins(found))},
        fingerprint=record.fingerprint,
        created_at=now,
    )
    before = await session.get(PromptSnapshot, run_id)
    if before is None:
        session.add(snapshot)
    elif before.root != snapshot.root:
        await session.merge(snapshot)
        await note_removed_prompts(session)
    await session.flush()
    if found is not None:
        figures = {"common_tokens": found.common_tokens, "compared_tokens": found.total_tokens}
        await session.execute(
            update(Run).where(Run.id == run_id).values(figures), execution_options={"synchronize_session": False}
        )
    if record.inputs is not None:
        await keep_inputs(session, run_id, record.inputs)


def _sent(request: ChatRequest) -> dict[str, Json]:
    return {name: value for name, value in msgspec.structs.asdict(request).items() if name != "attempts"}


def _without_pictures(value: Json, pictures: Mapping[str, str]) -> Json:
    """The value with what each picture is in its place."""
    match value:
        case str():
            head, comma, data = value.rpartition(",")
            return f"{head}{comma}{pictures[data]}" if data in pictures else value
        case dict():
            return {key: _without_pictures(item, pictures) for key, item in value.items()}
        case list() | tuple():
            return [_without_pictures(item, pictures) for item in value]
        case _:
            return value


def _placeholders(plan: Plan) -> dict[str, str]:
    """What stands in a kept request for each picture, by what stands in the one that was sent."""
    return {
        b64encode(one.data).decode(): f"<picture {hashlib.sha256(one.data).hexdigest()}, {len(one.data)} bytes>"
        for block in plan.enabled_blocks
        for one in block.attachments
        if one.data
    }


def _picture(attachment: Attachment) -> dict[str, Json]:
    data = attachment.data or b""
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "media_type": attachment.mime_type,
        "bytes": len(data),
        "width": attachment.width,
        "height": attachment.height,
        "title": attachment.name or "",
        "tokens": attachment_tokens(attachment),
    }


def count_omitted(prompt: BuiltPrompt) -> int:
    """How many pictures of the chat the model does not get."""
    return sum(prompt.inputs.pictures.omitted.values()) + _unused(prompt)


def _unused(prompt: BuiltPrompt) -> int:
    """How many pictures the model could see, but are not in the prompt."""
    written = sum(len(block.attachments) for block in prompt.plan.enabled_blocks)
    return max(0, prompt.inputs.pictures.sent - written)


def omission_sentences(prompt: BuiltPrompt) -> Iterator[str]:
    """Why pictures of the chat are not in the prompt."""
    omitted, provider = prompt.inputs.pictures.omitted, prompt.inputs.provider
    model = provider.model or provider.name
    if count := omitted.get("blind"):
        yield ngettext(
            "{count} picture is not sent: {model} does not see pictures.",
            "{count} pictures are not sent: {model} does not see pictures.",
            count,
            model=model,
        )
    if count := omitted.get("role"):
        yield ngettext(
            "{count} picture is not sent: {model} takes pictures only from people.",
            "{count} pictures are not sent: {model} takes pictures only from people.",
            count,
            model=model,
        )
    if count := omitted.get("limit"):
        yield ngettext(
            "{count} picture is not sent: a prompt has at most {most} pictures and {megabytes} MB of them.",
            "{count} pictures are not sent: a prompt has at most {most} pictures and {megabytes} MB of them.",
            count,
            most=MAX_SENT_PICTURES,
            megabytes=MAX_SENT_BYTES // 2**20,
        )
    if count := _unused(prompt):
        yield ngettext(
            "{count} picture is not sent: the preset leaves it out, or its message does not fit.",
            "{count} pictures are not sent: the preset leaves them out, or their messages do not fit.",
            count,
        )


def _entries_in(block: Block) -> list[Json]:
    """The entries of lorebooks in a block, each once."""
    entries = {
        (part.book, part.source): {
            "book": part.book,
            "entry": part.source,
            "name": part.name,
            "cause": part.cause,
            "key": part.key,
        }
        for part in block.lore_parts
    }
    return [presentable(entry) for entry in entries.values()]


def _lore(verdicts: Iterable[LoreVerdict]) -> list[dict[str, Json]]:
    """What became of the entries that woke up or almost did, those that are in the prompt first."""
    ordered = sorted(verdicts, key=lambda verdict: not verdict.is_activated)
    return [_verdict(verdict, VERDICT_FIELDS) for verdict in ordered[:MOST_VERDICTS]]


def lore_in_report(explanation: Explanation, places: Iterable[int]) -> list[dict[str, Json]]:
    """The same, of the entries at these places of an explanation."""
    return [_verdict(explanation.lore[place], VERDICT_FIELDS) for place in places]


def _verdict(verdict: LoreVerdict | ExplainedEntry, fields: Iterable[str]) -> dict[str, Json]:
    return {
        **{name: storable(getattr(verdict, name)) for name in fields},
        "reason": ACTIVATED if verdict.is_activated else verdict.reason,
    }


def _trimming(report: TrimReport) -> dict[str, Json]:
    return {
        "strategy": report.strategy,
        "budget_tokens": report.budget_tokens,
        "initial_tokens": report.initial_tokens,
        "final_tokens": report.final_tokens,
        "evictions": [
            {
                "slot": record.slot,
                "tokens": record.token_count,
                "reason": record.reason,
                "group": record.budget_group,
                "source": presentable(dict(record.source or {})),
            }
            for record in report.evictions
        ],
    }
