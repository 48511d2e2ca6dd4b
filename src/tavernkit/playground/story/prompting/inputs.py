"""From rows to the library's inputs: the only bridge between the application and the prompt.

Everything is read here, in a number of statements that does not depend on how long the chat is: of what was said, the
newest messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

import msgspec
from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import Attachment, Message
from tavernkit.artifacts import PromptCandidate
from tavernkit.history import InMemoryHistory
from tavernkit.playground.base.accounts.profile import time_of
from tavernkit.playground.base.database import models
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.kinds import dialect_of
from tavernkit.playground.base.llm.vision import sees_pictures
from tavernkit.playground.story.access.personas import AUTHOR_NAME, with_locks
from tavernkit.playground.story.lorebooks.queries import BooksInPlay, books_for
from tavernkit.playground.story.paths.injections import injections_of
from tavernkit.playground.story.paths.pictures import SentPicture, newest_pictures, picture_data
from tavernkit.playground.story.paths.state import State, end_of_path, state_at, visible_message
from tavernkit.playground.story.paths.variables import read_globals
from tavernkit.playground.story.paths.writing import REASONING
from tavernkit.playground.story.prompting.cast import PromptCast, UnpromptableError, load_cast
from tavernkit.playground.story.prompting.presets import Presets, load_presets
from tavernkit.playground.story.prompting.scripts import OwnScripts, own_scripts
from tavernkit.playground.story.providers.queries import provider_for
from tavernkit.playground.story.providers.tokenizers import estimator_for
from tavernkit.playground.story.settings_schema.models import StorySettings
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.values import Json, Value

WORDINGS = "wordings"
"""Where the metadata of a person's swipe keeps what steps have made of it: the text that they were made of, and each
wording, of which the last that is selected is told."""

MESSAGE_ID = "id"
SWIPE_ID = "active_swipe_id"
TYPED = "typed"
PICTURED = "pictured"
"""Where a message of a prompt says which one it is, which swipe of it is shown, what its person has typed where other
words are told, and that it has pictures."""


class WindowedHistory(InMemoryHistory):
    """The newest messages of a chat, which tells the whole chat's length: lore timers and notes count by it."""

    def __init__(self, window: Iterable[Message], *, length: int, user_messages: int | None = None) -> None:
        super().__init__(window)
        # Where there is nothing to read, nothing is said to be there: a reader would look for it without end.
        self._length = max(length, super().__len__()) if super().__len__() else 0
        self._user_messages = user_messages

    def __len__(self) -> int:
        return self._length

    def append(self, message: Message) -> None:
        super().append(message)
        self._length += 1

    def with_user_text(self, text: str) -> WindowedHistory:
        """The same chat, with the user's last message in other words."""
        messages = list(self)
        for place in range(len(messages) - 1, -1, -1):
            if messages[place].role == "user":
                typed = messages[place].metadata.get(TYPED, messages[place].content)
                metadata = {**messages[place].metadata, TYPED: typed}
                messages[place] = messages[place].with_(content=text, metadata=metadata)
                break
        return self.with_messages(messages)

    @property
    def user_messages(self) -> int | None:
        """How many messages people have written; None where only those of the window are counted."""
        return self._user_messages

    def with_messages(self, messages: Iterable[Message]) -> WindowedHistory:
        """The same chat, with others in the place of its messages."""
        return WindowedHistory(messages, length=self._length, user_messages=self._user_messages)

    def count_role(self, role: str) -> int:
        if role == "user" and self._user_messages is not None:
            return self._user_messages
        return super().count_role(role)


async def load_history(
    session: AsyncSession,
    conversation: models.Conversation,
    *,
    window: int,
    until: int | None = None,
    person_id: UUID | None = None,
    exact_user_count: bool = False,
) -> WindowedHistory:
    """The newest `window` messages that are for prompts, of those numbered up to `until` if that is given.

    What people other than `person_id` say is told with their names. How many messages people have written is counted
    beyond the window only where somebody needs it exactly: that is the one thing here that grows with the chat.
    """
    query = (
        select(
            models.Message.id,
            models.Message.text_id,
            models.Message.active_swipe_id,
            models.Message.role,
            models.Message.membership_id,
            models.Message.created_at,
            models.TextContent.content,
            AUTHOR_NAME,
            models.MessageSwipe.metadata_,
            exists().where(models.MessagePicture.swipe_id == models.Message.active_swipe_id),
        )
        .join(models.TextContent, models.TextContent.id == models.Message.text_id)
        .join(models.SpaceMembership, models.SpaceMembership.id == models.Message.membership_id)
        .outerjoin(models.MessageSwipe, models.MessageSwipe.id == models.Message.active_swipe_id)
        .where(models.Message.conversation_id == conversation.id, models.Message.visibility == "normal")
        .order_by(models.Message.seq.desc())
        .limit(window)
    )
    if until is not None:
        query = query.where(models.Message.seq <= until)
    rows = (await session.execute(with_locks(query))).all()
    newest_first = [
        Message(
            role=role,
            content=sent,
            # A narrator has no name.
            name=None if role == "system" else name,
            send_date=created_at.isoformat(),
            metadata={
                MESSAGE_ID: str(id),
                **({} if swipe_id is None else {SWIPE_ID: str(swipe_id)}),
                **({TYPED: content} if sent != content else {}),
                **_metadata(swipe or {}, is_foreign=role == "user" and membership_id != person_id),
                **({PICTURED: True} if is_pictured else {}),
            },
        )
        for id, text_id, swipe_id, role, membership_id, created_at, content, name, swipe, is_pictured in rows
        for sent in (prompt_text(content, swipe or {}, text_id),)
    ]
    return WindowedHistory(
        reversed(newest_first),
        length=await _length(session, conversation, until),
        user_messages=await _user_messages(session, conversation.id, until) if exact_user_count else None,
    )


MAX_SENT_PICTURES = 20
MAX_SENT_BYTES = 20 * 1024 * 1024
MAX_PICTURE_BYTES = 5 * 1024 * 1024
"""What providers take at most: pictures in all, their bytes, and the bytes of one. The newest are sent."""

OmissionReason: TypeAlias = Literal["blind", "role", "limit"]

SHOWN_BY_MODELS = frozenset({"anthropic", "google"})
"""The dialects that can say that a model has shown a picture itself."""


class HistoryPictures(Value, frozen=True, kw_only=True):
    """The pictures of a chat: how many go with the messages, and how many do not, and why."""

    sent: int = 0
    omitted: Mapping[OmissionReason, int] = {}


async def load_pictures(
    session: AsyncSession, conversation_id: UUID, history: WindowedHistory, provider: models.Provider, *, until: int
) -> tuple[WindowedHistory, HistoryPictures]:
    """The chat with its pictures, as far as the model sees them."""
    if not any(PICTURED in message.metadata for message in history):
        return history, HistoryPictures()
    found = await newest_pictures(session, conversation_id, until=until)
    told = {message.metadata.get(MESSAGE_ID) for message in history}
    sent: dict[str, list[SentPicture]] = {}
    omitted: Counter[OmissionReason] = Counter()
    count = size = 0
    for picture in found:
        if str(picture.message_id) not in told:
            continue
        reason = _omission(picture, provider, count=count, size=size)
        if reason is not None:
            omitted[reason] += 1
            continue
        count, size = count + 1, size + picture.size
        sent.setdefault(str(picture.message_id), []).append(picture)
    data = await picture_data(session, {picture.sha256 for own in sent.values() for picture in own})
    titles: dict[str, list[str]] = {}
    for picture in found:
        titles.setdefault(str(picture.message_id), []).append(picture.title)
    messages = [_with_pictures(message, sent, titles, data) for message in history]
    return history.with_messages(messages), HistoryPictures(sent=count, omitted=omitted)


def _omission(picture: SentPicture, provider: models.Provider, *, count: int, size: int) -> OmissionReason | None:
    if not sees_pictures(provider):
        return "blind"
    if picture.role == "system" or (picture.role == "assistant" and dialect_of(provider) not in SHOWN_BY_MODELS):
        return "role"
    is_large = picture.size > MAX_PICTURE_BYTES or size + picture.size > MAX_SENT_BYTES
    return "limit" if is_large or count >= MAX_SENT_PICTURES else None


def _with_pictures(
    message: Message,
    sent: Mapping[str, Sequence[SentPicture]],
    titles: Mapping[str, Sequence[str]],
    data: Mapping[str, bytes],
) -> Message:
    id = str(message.metadata.get(MESSAGE_ID))
    if id not in titles:
        return message
    if id not in sent:
        # A message that is nothing but pictures would vanish from the prompt.
        told = "\n".join(f"[Picture: {title}]" if title else "[Picture]" for title in titles[id])
        return message if message.content else message.with_(content=told)
    return message.with_(
        attachments=tuple(
            Attachment(
                mime_type=picture.media_type,
                data=data[picture.sha256],
                name=picture.title or None,
                width=picture.width,
                height=picture.height,
            )
            for picture in sent[id]
        )
    )


def prompt_text(typed: str, swipe: Mapping[str, Any], text_id: UUID) -> str:
    """What is told of a message: what was typed, unless a step has put it in other words since it was last edited."""
    made = swipe.get(WORDINGS)
    if not isinstance(made, dict) or made.get("of") != str(text_id):
        return typed
    return next((one["text"] for one in reversed(made["made"]) if one["selected"]), typed)


def _metadata(swipe: Mapping[str, Any], *, is_foreign: bool) -> dict[str, Json]:
    metadata: dict[str, Json] = {"force_avatar": True} if is_foreign else {}
    thoughts = swipe.get(REASONING)
    if isinstance(thoughts, str) and thoughts:
        metadata["extra"] = {REASONING: thoughts}
    return metadata


async def _length(session: AsyncSession, conversation: models.Conversation, until: int | None) -> int:
    """How many messages there are, excluded ones too, as SillyTavern counts them."""
    if until is None or until >= conversation.last_seq:
        return conversation.messages_count
    later = await session.scalar(
        select(func.count()).where(
            models.Message.conversation_id == conversation.id,
            models.Message.seq > until,
            models.Message.visibility != "hidden",
        )
    )
    return conversation.messages_count - (later or 0)


async def _user_messages(session: AsyncSession, conversation_id: UUID, until: int | None) -> int:
    query = select(func.count()).where(
        models.Message.conversation_id == conversation_id,
        models.Message.visibility == "normal",
        models.Message.role == "user",
    )
    if until is not None:
        query = query.where(models.Message.seq <= until)
    return await session.scalar(query) or 0


GENERATION_TYPES: Mapping[str, str] = {
    "user_turn": "normal",
    "auto_mode": "normal",
    "force_talk": "normal",
    "regenerate": "regenerate",
    "continue": "continue",
    "impersonate": "impersonate",
    "copilot": "impersonate",
}
"""What SillyTavern calls each kind of run."""


class ReplyLimits(Value, frozen=True, kw_only=True):
    """What who asks for a reply wants beside the story's settings: how long it is at most, and what ends it."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


class PromptTurn(Value, frozen=True, kw_only=True):
    """Who is to say something where, whether a run asks for it or somebody wants to know what would be sent.

    `kind` is that of a run. `target_id` is the message that is regenerated or continued; without one, the last is
    continued. `until` is the number of the last message that counts, for a turn that is taken up again.
    """

    conversation: models.Conversation
    space: models.Space
    speaker: models.SpaceMembership
    kind: str
    target_id: UUID | None = None
    until: int | None = None
    limits: ReplyLimits = ReplyLimits()
    seed: int

    @property
    def needs_target(self) -> bool:
        return self.kind in ("regenerate", "continue")


class PromptInputs(Value, frozen=True, kw_only=True):
    """Everything a prompt is built from, already read. The same inputs always give the same prompt.

    `global_variables` are those of the space's owner, and `now` is in their time zone. `seed` decides what chance
    decides, and `estimator` counts tokens as the model does. `replaces` is the message of which the reply becomes
    another swipe, `continued` the text that it goes on with. `until_seq` is the number of the last message that was
    read. `candidates` are the artifacts that may be told, `injections` all those of the conversation, also those that
    were used. `scripts` are those that stand beside cards and presets.
    """

    generation_type: str
    settings: StorySettings
    provider: models.Provider
    presets: Presets
    cast: PromptCast
    books: BooksInPlay
    history: WindowedHistory
    state: State
    global_variables: Mapping[str, Json]
    chat_id: UUID
    now: datetime
    seed: int
    until_seq: int
    estimator: TokenEstimator
    replaces: models.Message | None = None
    continued: str = ""
    candidates: tuple[PromptCandidate, ...] = ()
    injections: tuple[models.ConversationInjection, ...] = ()
    limits: ReplyLimits = ReplyLimits()
    scripts: OwnScripts = OwnScripts()
    pictures: HistoryPictures = HistoryPictures()

    @property
    def missing(self) -> tuple[str, ...]:
        """What the prompt leaves out because it is not shared with the space, in sentences."""
        return (*self.cast.missing, *self.books.missing, *self.presets.missing)

    @property
    def reply_seq(self) -> int:
        """The number of the message that the reply is a swipe of, or is going to be."""
        return self.until_seq + 1 if self.replaces is None else self.replaces.seq


async def load_inputs(session: AsyncSession, run_id: UUID, now: datetime, *, until: int | None = None) -> PromptInputs:
    """Read what the run's speaker needs to answer, knowing no message behind the one numbered `until`; raises what
    `inputs_for` raises."""
    return await inputs_for(session, (await _turn(session, run_id)).with_(until=until), now)


async def inputs_for(session: AsyncSession, turn: PromptTurn, now: datetime) -> PromptInputs:
    """Read what the speaker needs to answer, and write nothing.

    Raises ModelError when there is no model, and UnpromptableError when the character is gone.
    """
    conversation, space, speaker = turn.conversation, turn.space, turn.speaker
    settings = effective(space, member=speaker, conversation=conversation).settings
    provider = await provider_for(session, speaker)
    if provider is None:
        raise ModelError(_("No model is installed. Add a model."), code="unavailable")
    cast = await load_cast(session, conversation, speaker, settings)
    target = await _target(session, turn)
    generation_type = GENERATION_TYPES[turn.kind] if target is not None or not turn.needs_target else "normal"
    until = _end_of_history(turn, target)
    until_seq = conversation.last_seq if until is None else until
    history = await load_history(
        session,
        conversation,
        window=settings.prompt.history_messages,
        until=until,
        person_id=None if cast.person is None else cast.person.id,
        exact_user_count=settings.authors_note.interval > 1,
    )
    history, pictures = await load_pictures(session, conversation.id, history, provider, until=until_seq)
    if generation_type == "regenerate" and target is not None:
        # The library takes the last reply away itself, and knows by it that this is another attempt.
        history.append(
            Message(
                role="assistant",
                content=target.content,
                name=cast.character.name,
                metadata={MESSAGE_ID: str(target.id)},
            )
        )
    return PromptInputs(
        generation_type=generation_type,
        settings=settings,
        provider=provider,
        presets=await load_presets(session, space, settings.model, settings.prompt.modules),
        cast=cast,
        books=await books_for(session, conversation, cast.voice, persona_id=cast.persona_id),
        history=history,
        state=await state_at(session, conversation.id, until_seq),
        global_variables=await read_globals(session, space.owner_id),
        # A branch goes on with what was picked before it left.
        chat_id=conversation.root_conversation_id or conversation.id,
        now=await time_of(session, space.owner_id, now),
        seed=turn.seed,
        until_seq=until_seq,
        estimator=await estimator_for(session, provider),
        replaces=target,
        injections=await injections_of(session, conversation.id),
        limits=turn.limits,
        pictures=pictures,
        continued=target.content if generation_type == "continue" and target is not None else "",
        scripts=await own_scripts(session, space.owner_id, space.id),
    )


async def turn_of(
    session: AsyncSession,
    conversation_id: UUID,
    speaker_id: UUID,
    *,
    kind: str,
    seed: int,
    otherwise: str,
    target_id: UUID | None = None,
) -> PromptTurn:
    """A turn that no run asks for; UnpromptableError, which says `otherwise`, where who was to speak is gone."""
    conversation = await session.get(models.Conversation, conversation_id)
    speaker = await session.get(models.SpaceMembership, speaker_id)
    if conversation is None or speaker is None or speaker.status != "active":
        raise UnpromptableError(otherwise)
    space = await session.get_one(models.Space, conversation.space_id)
    return PromptTurn(
        conversation=conversation, space=space, speaker=speaker, kind=kind, target_id=target_id, seed=seed
    )


async def _turn(session: AsyncSession, run_id: UUID) -> PromptTurn:
    run, conversation, space, speaker = (
        await session.execute(
            select(models.Run, models.Conversation, models.Space, models.SpaceMembership)
            .join(models.Conversation, models.Conversation.id == models.Run.conversation_id)
            .join(models.Space, models.Space.id == models.Conversation.space_id)
            .join(models.SpaceMembership, models.SpaceMembership.id == models.Run.speaker_membership_id)
            .where(models.Run.id == run_id)
        )
    ).one()
    return PromptTurn(
        conversation=conversation,
        space=space,
        speaker=speaker,
        kind=run.kind,
        target_id=run.target_message_id,
        limits=ReplyLimits() if run.limits is None else msgspec.convert(run.limits, ReplyLimits),
        seed=run.id.int,
    )


async def _target(session: AsyncSession, turn: PromptTurn) -> models.Message | None:
    """The message that is regenerated or continued."""
    if not turn.needs_target:
        return None
    if turn.target_id is not None:
        return await visible_message(session, turn.conversation.id, turn.target_id)
    end = await end_of_path(session, turn.conversation.id) if turn.kind == "continue" else None
    return None if end is None else end[0]


def _end_of_history(turn: PromptTurn, target: models.Message | None) -> int | None:
    """The number of the last message that the prompt knows; None is all there are."""
    if target is None:
        return turn.until
    last = target.seq if turn.kind == "continue" else target.seq - 1
    return None if last >= turn.conversation.last_seq else last
