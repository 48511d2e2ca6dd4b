"""Replaying a run: its prompt is built again from what was kept, and compared; its reply, from the recorded stream.

No model is asked and nothing is written. A replay can be done in the application, or from a file that was saved.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import __version__
from tavernkit.extensions import loaded_extensions
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Conversation, Run, Space
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.secrets import KeyBox
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.previews.service import in_preview, read_prompt
from tavernkit.playground.story.prompting.building import BuiltPrompt, build_prompt
from tavernkit.playground.story.prompting.inputs_kept import (
    InputsParts,
    KnownParts,
    UnreadableInputsError,
    WrittenTurn,
    inputs_from,
    provider_of,
    read_kept,
    turn_from,
)
from tavernkit.playground.story.prompting.records import document_of, fingerprint_of
from tavernkit.playground.story.prompting.replies import HeardReply, StoredReply, make_reply
from tavernkit.playground.story.prompting.streams_kept import StreamRecord, read_stream, stream_from
from tavernkit.playground.story.providers.tokenizers import estimator_of_file
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.values import Json, JsonObject, Value

FORMAT = 1
AROUND = 60
"""So many characters are shown on each side of a difference."""


class Difference(Value, frozen=True, kw_only=True):
    """The first place in which two documents differ, and what stands there in each."""

    place: str
    kept: str
    rebuilt: str


class ReplayedReply(Value, frozen=True, kw_only=True):
    """What the recorded stream becomes, and whether text, reasoning and changes of the state are those of then."""

    is_same: bool
    text: str
    reasoning: str
    difference: Difference | None = None


class Replay(Value, frozen=True, kw_only=True):
    """Whether a prompt that was built again is the one that was sent. `reasons` say what is not as it was then; `reply`
    is there where the stream of the provider was recorded."""

    run_id: UUID | None
    is_same: bool
    fingerprint: str
    rebuilt_fingerprint: str
    tavernkit: str
    difference: Difference | None = None
    reasons: tuple[str, ...] = ()
    reply: ReplayedReply | None = None

    @property
    def is_whole(self) -> bool:
        """Whether everything is as it was."""
        return self.is_same and (self.reply is None or self.reply.is_same)


class KeptRun(Value, frozen=True, kw_only=True):
    """Everything that a replay needs: `request` is what people may see of what was sent."""

    run_id: UUID | None
    fingerprint: str
    request: JsonObject
    turn: WrittenTurn
    parts: InputsParts
    stream: StreamRecord | None = None


async def replay_run(runtime: Runtime, viewer: Viewer, run_id: UUID) -> Replay:
    """Build the prompt of a run again, for whoever may see it."""
    return await replayed(await read_run(runtime, viewer, run_id))


async def read_run(runtime: Runtime, viewer: Viewer, run_id: UUID) -> KeptRun:
    """What was kept of a run, for whoever may see its prompt; the artifacts that people must not see are sealed."""
    prompt = await read_prompt(runtime, viewer, run_id)
    async with runtime.database.read() as session:
        turn, parts = await kept_of(session, run_id, runtime.keys)
        stream = await read_stream(session, run_id)
    return KeptRun(
        run_id=run_id,
        fingerprint=prompt.fingerprint,
        request=prompt.request,
        turn=turn,
        parts=parts,
        stream=stream,
    )


async def kept_of(
    session: AsyncSession, run_id: UUID, keys: KeyBox, known: KnownParts | None = None
) -> tuple[WrittenTurn, InputsParts]:
    """What the prompt of a run was built from; refused where it was not kept."""
    try:
        kept = await read_kept(session, run_id, keys, known)
    except UnreadableInputsError as error:
        raise Refused("conflict", str(error)) from error
    if kept is None:
        sentence = _("This prompt cannot be built again: it is from before replays were kept.")
        raise Refused("conflict", sentence)
    return kept


async def replayed(kept: KeptRun) -> Replay:
    """Build the prompt again, and compare; Refused where what was kept cannot be read."""
    try:
        estimator, reasons = await _estimator(kept)
    except UnreadableInputsError as error:
        raise Refused("conflict", str(error)) from error
    return await in_preview(lambda: _compared(kept, estimator, reasons))


async def estimator_in(turn: WrittenTurn, parts: InputsParts) -> TokenEstimator | None:
    """Who has counted the tokens; None where the tokenizer of then is gone."""
    sha256 = provider_of(turn, parts).tokenizer_sha256
    if sha256 is None:
        return default_estimator()
    file = parts.files.get(sha256)
    return None if file is None else await estimator_of_file(sha256, file)


async def _estimator(kept: KeptRun) -> tuple[TokenEstimator, tuple[str, ...]]:
    found = await estimator_in(kept.turn, kept.parts)
    reasons = tuple(_circumstances(kept.turn))
    if found is None:
        return default_estimator(), (*reasons, _("The provider's tokenizer file was removed."))
    return found, reasons


def _circumstances(turn: WrittenTurn) -> Iterator[str]:
    """What is not as it was when the prompt was built."""
    if turn.tavernkit != __version__:
        yield _("The prompt was built by TavernKit {then}; this is {now}.", then=turn.tavernkit, now=__version__)
    then, now = set(turn.extensions), set(loaded_extensions())
    for name in sorted(then - now):
        yield _("The extension {name} was loaded then, and is not now.", name=name)
    for name in sorted(now - then):
        yield _("The extension {name} is loaded now, and was not then.", name=name)


def _compared(kept: KeptRun, estimator: TokenEstimator, reasons: tuple[str, ...]) -> Replay:
    prompt = build_prompt(inputs_from(kept.turn, kept.parts, estimator))
    rebuilt = fingerprint_of(prompt)
    is_same = rebuilt == kept.fingerprint
    reply = None if kept.stream is None else _reply(prompt, kept.stream)
    is_whole = is_same and (reply is None or reply.is_same)
    return Replay(
        run_id=kept.run_id,
        is_same=is_same,
        fingerprint=kept.fingerprint,
        rebuilt_fingerprint=rebuilt,
        tavernkit=kept.turn.tavernkit,
        difference=None if is_same else _difference(kept, prompt),
        reasons=() if is_whole else reasons or (_("Nothing that was recorded explains the difference."),),
        reply=reply,
    )


def _difference(kept: KeptRun, prompt: BuiltPrompt) -> Difference:
    """The first difference, in what people may see of both."""
    shown = document_of(prompt).request
    found = first_difference(kept.request, shown)
    return found or Difference(place="", kept=_("hidden from people"), rebuilt=_("hidden from people"))


def _reply(prompt: BuiltPrompt, stream: StreamRecord) -> ReplayedReply:
    """Let the pieces become a reply, as they did when they came."""
    heard = HeardReply()
    for piece in stream.pieces:
        heard.take(piece.to_event())
    try:
        reply = make_reply(prompt, heard.text, heard.thoughts)
    except ModelError as error:
        difference = Difference(place="text", kept=stream.reply.text[:AROUND], rebuilt=str(error))
        return ReplayedReply(is_same=False, text="", reasoning="", difference=difference)
    found = first_difference(_plain(stream.reply), _plain(reply))
    return ReplayedReply(is_same=found is None, text=reply.text, reasoning=reply.reasoning, difference=found)


def _plain(reply: StoredReply) -> Json:
    return json.loads(json.dumps(msgspec.to_builtins(reply)))


def first_difference(kept: Json, rebuilt: Json, place: str = "") -> Difference | None:
    """Where two JSON documents differ first; None where they are the same."""
    if isinstance(kept, Mapping) and isinstance(rebuilt, Mapping):
        for name in {**kept, **rebuilt}:
            if name not in kept or name not in rebuilt:
                return Difference(
                    place=_below(place, name), kept=_shown(kept.get(name)), rebuilt=_shown(rebuilt.get(name))
                )
            if (found := first_difference(kept[name], rebuilt[name], _below(place, name))) is not None:
                return found
        return None
    if isinstance(kept, list | tuple) and isinstance(rebuilt, list | tuple):
        for index, (one, other) in enumerate(zip(kept, rebuilt, strict=False)):
            if (found := first_difference(one, other, f"{place}[{index}]")) is not None:
                return found
        if len(kept) == len(rebuilt):
            return None
        index = min(len(kept), len(rebuilt))
        return Difference(
            place=f"{place}[{index}]", kept=_shown(_item(kept, index)), rebuilt=_shown(_item(rebuilt, index))
        )
    if kept == rebuilt:
        return None
    if isinstance(kept, str) and isinstance(rebuilt, str):
        common = sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], zip(kept, rebuilt, strict=False)))
        start, end = max(0, common - AROUND), common + AROUND
        return Difference(place=f"{place}:{common}", kept=kept[start:end], rebuilt=rebuilt[start:end])
    return Difference(place=place, kept=_shown(kept), rebuilt=_shown(rebuilt))


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _item(items: Sequence[Json], index: int) -> Json:
    return items[index] if index < len(items) else None


def _shown(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)[: 2 * AROUND]


def write_run(kept: KeptRun) -> bytes:
    """A file with everything that a replay needs; artifacts that people must not see are sealed in it."""
    document: dict[str, Any] = {
        "tavernkit_replay": FORMAT,
        "run_id": None if kept.run_id is None else str(kept.run_id),
        "fingerprint": kept.fingerprint,
        "request": kept.request,
        "inputs": msgspec.to_builtins(kept.turn),
        "documents": kept.parts.documents,
        "files": {key: b64encode(data).decode() for key, data in kept.parts.files.items()},
        "stream": msgspec.to_builtins(kept.stream),
    }
    return json.dumps(document, indent=1).encode()


class _File(Value, frozen=True, kw_only=True):
    tavernkit_replay: int
    run_id: UUID | None
    fingerprint: str
    request: Mapping[str, Json]
    inputs: Mapping[str, Json]
    documents: Mapping[str, Json]
    files: Mapping[str, str]
    stream: Mapping[str, Json] | None


def read_run_file(data: bytes) -> KeptRun:
    """What `write_run` has written; raises UnreadableInputsError."""
    try:
        file = msgspec.convert(json.loads(data), _File)
        files = {key: b64decode(text) for key, text in file.files.items()}
    except (msgspec.ValidationError, ValueError, NotBase64, RecursionError) as error:
        raise UnreadableInputsError(f"This is not a saved replay: {error}") from error
    if file.tavernkit_replay != FORMAT:
        raise UnreadableInputsError(f"The file has format {file.tavernkit_replay}; this version reads {FORMAT}.")
    return KeptRun(
        run_id=file.run_id,
        fingerprint=file.fingerprint,
        request=file.request,
        turn=turn_from(file.inputs),
        parts=InputsParts(documents=file.documents, files=files),
        stream=None if file.stream is None else stream_from(file.stream),
    )


async def owner_of_run(runtime: Runtime, run_id: UUID) -> Viewer:
    """The owner of the space in which a run was, for whom commands act."""
    async with runtime.database.read() as session:
        query = select(Space.owner_id).join(Conversation, Conversation.space_id == Space.id)
        owner_id = await session.scalar(query.join(Run, Run.conversation_id == Conversation.id).where(Run.id == run_id))
    return Viewer(user_id=existing(owner_id, _("run")))
