"""Prompts that were kept, read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import PromptBlock, PromptPiece, PromptSnapshot
from tavernkit.playground.base.pieces import Piece, linked, unpacked
from tavernkit.playground.story.prompting.records import (
    LORE,
    SENTENCE_BEGINS,
    PromptDocument,
    following_id,
    length_of,
    lore_in_report,
)
from tavernkit.prompt.explaining import PROMPT
from tavernkit.prompt.reasons import Facts, NearMiss
from tavernkit.prompt.sources import ExplainedMessage, ExplainedSpan, Explanation, FromBlock
from tavernkit.values import Json, JsonObject

TEXT = "$text"
"""Stands, with its hash, for a text in a request that an earlier version has kept."""


async def read_document(
    session: AsyncSession, snapshot: PromptSnapshot, known: Mapping[bytes, Piece] | None = None
) -> PromptDocument:
    """The prompt that was kept; pieces that are `known` are not read."""
    if snapshot.root is None:
        return await _of_earlier_version(session, snapshot)
    pieces = dict(known or {})
    missing = {snapshot.root} - pieces.keys()
    while missing:
        rows = await session.execute(
            select(PromptPiece.key, PromptPiece.links, PromptPiece.data).where(PromptPiece.key.in_(missing))
        )
        found = {key: Piece(links, data) for key, links, data in rows}
        pieces |= found
        missing = {key for piece in found.values() for key in linked(piece.links)} - pieces.keys()
    document = msgspec.convert(unpacked(snapshot.root, pieces), PromptDocument)
    if document.explanation is None or document.lore_places is None:
        return document
    lore = lore_in_report(read_kept(document.explanation), document.lore_places)
    return document.with_(report={**document.report, LORE: lore})


async def _of_earlier_version(session: AsyncSession, snapshot: PromptSnapshot) -> PromptDocument:
    """A prompt that names its texts by their hashes."""
    blocks: list[JsonObject] = snapshot.blocks["blocks"]
    hashes = {block["sha256"] for block in blocks} | set(_hashes(snapshot.request))
    rows = await session.execute(select(PromptBlock.sha256, PromptBlock.content).where(PromptBlock.sha256.in_(hashes)))
    texts = {row.sha256: row.content for row in rows}
    return PromptDocument(
        blocks=[{**block, "content": texts[str(block["sha256"])]} for block in blocks],
        request={name: _with_texts(value, texts) for name, value in snapshot.request.items()},
        report=snapshot.report,
    )


def _hashes(value: Json) -> Iterator[str]:
    key = _hash(value)
    if key is not None:
        yield key
    elif isinstance(value, dict):
        for item in value.values():
            yield from _hashes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _hashes(item)


def _with_texts(value: Json, texts: Mapping[str, str]) -> Json:
    key = _hash(value)
    if key is not None:
        return texts.get(key, value)
    if isinstance(value, dict):
        return {name: _with_texts(item, texts) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    return value


def _hash(value: Json) -> str | None:
    """The hash of the text that this stands for, if it stands for one."""
    key = value.get(TEXT) if isinstance(value, dict) and len(value) == 1 else None
    return key if isinstance(key, str) else None


def read_kept(kept: JsonObject) -> Explanation:
    """The explanation that was kept in this form."""
    written: dict[str, Any] = dict(kept)
    written["messages"] = [
        {**message, "spans": list(_cut(message["content"], message["spans"]))} for message in written["messages"]
    ]
    return msgspec.convert(
        {
            **written,
            "lore": [_entry(entry, written.get("facts", {})) for entry in written.get("lore", ())],
            "evicted": _with_shortages(written.get("evicted", ())),
        },
        Explanation,
    )


def _entry(kept: JsonObject, facts: Facts) -> JsonObject:
    """An entry with what follows from the rest."""
    if SENTENCE_BEGINS not in kept:
        return kept
    miss = msgspec.convert(kept["near_miss"], NearMiss)
    if miss.kind == "depth" and miss.depth is None and miss.message is not None:
        miss = miss.with_(depth=length_of(facts) - miss.message)
    whole = {**kept, "near_miss": msgspec.to_builtins(miss), "sentence": f"{kept[SENTENCE_BEGINS]}{miss}"}
    return {name: value for name, value in whole.items() if name != SENTENCE_BEGINS}


def _with_shortages(evicted: Sequence[dict[str, Any]]) -> list[JsonObject]:
    """The blocks with what follows from their neighbours: by how much each did not fit, and their numbers."""
    whole: list[dict[str, Any]] = []
    missing = 0
    for block in reversed(evicted):
        short_by = block.get("short_by")
        missing = block["tokens"] + missing if short_by == 0 else short_by or 0
        whole.append(block if short_by is None else {**block, "short_by": missing})
    numbered: list[JsonObject] = []
    id = ""
    for block in reversed(whole):
        id = block.get("id") or following_id(id)
        numbered.append({**block, "id": id})
    return numbered


def _cut(content: str, spans: list[dict[str, Any]]) -> Iterator[dict[str, Json]]:
    at = 0
    for span in spans:
        end = at + span["text"]
        yield {**span, "text": content[at:end]}
        at = end


def is_text(document: PromptDocument) -> bool:
    """Whether it is a text completion."""
    return isinstance(document.request.get("prompt"), str)


def explanation_in(document: PromptDocument) -> Explanation:
    """Where the characters of a prompt come from; of one that was not traced, its blocks are known."""
    return _by_blocks(document) if document.explanation is None else read_kept(document.explanation)


def _by_blocks(document: PromptDocument) -> Explanation:
    """What is known of a prompt that was not traced: its blocks."""
    messages = []
    for block in document.blocks:
        source = block["source"]
        named = source if isinstance(source, dict) else {}
        text = str(block["content"])
        origin = FromBlock(stage=str(named.get("stage") or ""), id=str(named.get("id") or ""))
        spans = (ExplainedSpan(text=text, source=origin),) if text else ()
        messages.append(ExplainedMessage(role=str(block["role"]), content=text, spans=spans))
    if not is_text(document):
        return Explanation(messages=tuple(messages))
    whole = ExplainedMessage(
        role=PROMPT,
        content="".join(message.content for message in messages),
        spans=tuple(span for message in messages for span in message.spans),
    )
    return Explanation(messages=(whole,))
