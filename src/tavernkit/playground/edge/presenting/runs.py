"""From rounds, members and jobs to what the group bar, its editor and the suggestions show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.database.models import (
    Character,
    Conversation,
    Job,
    Message,
    Round,
    RoundSlot,
    SpaceMembership,
)
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, stored_sentence, translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.edge.presenting.home import Face, face
from tavernkit.playground.story.access.access import active_members
from tavernkit.playground.story.runs.planner import ACTIVE
from tavernkit.playground.story.runs.queries import Turns, shown_turns
from tavernkit.playground.story.runs.rounds import rules_of
from tavernkit.playground.story.runs.speakers import can_speak, has_copilot, is_group
from tavernkit.values import Value

TurnsState: TypeAlias = Literal["idle", "writing", "paused", "failed"]

ASKED = {
    "force_talk": _("Triggered manually."),
    "regenerate": _("Regenerates the last reply."),
    "continue": _("Continues the last reply."),
    "impersonate": _("Impersonates a person."),
}
"""Why somebody speaks who has no turn in a round."""

NOBODY_ABLE = _("No character can reply. Add a character or unmute one.")
CHOOSE = _("The reply order is manual. Choose who replies.")


class SpeakerView(Face, frozen=True, kw_only=True):
    """Somebody who can speak."""

    id: str
    is_muted: bool = False


class SlotView(Value, frozen=True, kw_only=True):
    """Somebody's turn, and why it is theirs."""

    speaker: SpeakerView
    reason: str


class TurnsView(Value, frozen=True, kw_only=True):
    """The group bar, which is only shown where there are several characters or something goes on by itself.

    `now` speaks or is about to; `sentence` says what a round waits for that has stopped; `silence` says, below the last
    message, why nobody answers it.
    """

    conversation_id: str
    is_shown: bool = False
    is_group: bool = False
    has_round: bool = False
    state: TurnsState = "idle"
    sentence: str = ""
    silence: str = ""
    now: SlotView | None = None
    next: tuple[SlotView, ...] = ()
    auto_rounds: int | None = None
    speakers: tuple[SpeakerView, ...] = ()


class RoundView(Value, frozen=True, kw_only=True):
    """The turns that have not begun, to be changed; `round_id` is empty where no round goes on."""

    conversation_id: str
    title: str
    round_id: str
    now: SlotView | None
    places: tuple[SlotView, ...]
    speakers: tuple[SpeakerView, ...]
    notice: str = ""


class CandidatesView(Value, frozen=True, kw_only=True):
    """Suggestions for what a person could say next: each has a text or an error, and neither while it is being written.

    `is_over` when none is to come any more.
    """

    conversation_id: UUID
    job_id: UUID
    candidates: Sequence[Mapping[str, str]]
    is_over: bool
    error: str


async def turns_view(session: AsyncSession, conversation: Conversation) -> TurnsView:
    """Who speaks and who is next; little is read where there is no bar to show."""
    members = await active_members(session, conversation.space_id)
    group = is_group(members)
    by_itself = conversation.auto_mode_remaining_rounds is not None or any(
        member.kind == "human" and can_speak(member, conversation.id) for member in members
    )
    is_manual = (await rules_of(session, conversation)).reply_order == "manual"
    silence = await _silence(session, conversation, members, is_manual=is_manual)
    # Where nobody answers by itself, the bar is where somebody is asked to.
    is_asked = is_manual and any(member.kind == "character" for member in members)
    if not (group or by_itself or is_asked):
        return TurnsView(conversation_id=str(conversation.id), silence=silence)
    turns = await shown_turns(session, conversation)
    speakers = await speaker_views(session, members)
    now, behind = _now(turns, speakers), _behind(turns)
    return TurnsView(
        conversation_id=str(conversation.id),
        is_shown=True,
        is_group=group,
        has_round=turns.round is not None,
        state=_state(turns),
        sentence=_sentence(turns, speakers),
        silence=silence,
        now=now,
        next=_places(behind, speakers),
        auto_rounds=conversation.auto_mode_remaining_rounds,
        speakers=tuple(speakers[member.id] for member in members if member.kind == "character"),
    )


async def round_view(session: AsyncSession, conversation: Conversation) -> RoundView:
    """The order of those who have not begun, to be changed."""
    members = await active_members(session, conversation.space_id)
    turns = await shown_turns(session, conversation)
    speakers = await speaker_views(session, members)
    return RoundView(
        conversation_id=str(conversation.id),
        title=shown_name(conversation.name),
        round_id="" if turns.round is None else str(turns.round.round.id),
        now=_now(turns, speakers),
        places=_places(_behind(turns), speakers),
        speakers=tuple(speakers[member.id] for member in members if can_speak(member, conversation.id)),
    )


async def speaker_views(session: AsyncSession, members: Sequence[SpaceMembership]) -> dict[UUID, SpeakerView]:
    """The members with their pictures."""
    characters = [member.character_id for member in members if member.character_id is not None]
    rows = await session.execute(select(Character.id, Character.thumbnail_sha256).where(Character.id.in_(characters)))
    pictures: dict[UUID | None, str] = {id: sha256 for id, sha256 in rows if sha256 is not None}
    return {
        member.id: _speaker(member.id, member.cached_display_name, pictures.get(member.character_id)).with_(
            is_muted=member.participation != "active"
        )
        for member in members
    }


def copilot_steps(conversation: Conversation, member: SpaceMembership | None) -> int:
    """How many messages a model is still to write for this person here."""
    return member.copilot_remaining_steps if member is not None and has_copilot(member, conversation.id) else 0


def candidates_view(conversation_id: UUID, job: Job) -> CandidatesView:
    """What a job has written; while it is at work, its suggestions only arrive as events."""
    is_over = job.status not in ("queued", "running")
    return CandidatesView(
        conversation_id=conversation_id,
        job_id=job.id,
        candidates=[shown_candidate(one) for one in job.result.get("candidates", [])] if is_over else [{}] * job.total,
        is_over=is_over,
        error=stored_sentence(job.error) if job.error else "",
    )


def shown_candidate(candidate: Mapping[str, Any]) -> Mapping[str, Any]:
    """A suggestion; what went wrong instead is in the reader's language."""
    failure = candidate.get("failure")
    return candidate if failure is None else {**candidate, "error": translated(stored_sentence(failure))}


async def _silence(
    session: AsyncSession, conversation: Conversation, members: Sequence[SpaceMembership], *, is_manual: bool
) -> str:
    """Why nobody answers what a person said last, and what to do; empty where somebody does or nothing was said."""
    is_able = any(can_speak(member, conversation.id) for member in members)
    if is_able and not is_manual:
        return ""
    is_answered = exists(Round.id).where(Round.conversation_id == conversation.id, Round.status == "active")
    last_role = await session.scalar(
        select(Message.role)
        .where(Message.conversation_id == conversation.id, Message.visibility != "hidden", ~is_answered)
        .order_by(Message.seq.desc())
        .limit(1)
    )
    if last_role != "user":
        return ""
    return CHOOSE if is_able else NOBODY_ABLE


def _state(turns: Turns) -> TurnsState:
    if turns.run is not None and turns.run.status in ACTIVE:
        # It finishes what it says, but nobody speaks behind it.
        return "paused" if turns.round is not None and turns.round.round.scheduling_state == "paused" else "writing"
    if turns.round is None:
        return "failed" if turns.run is not None and turns.run.status == "failed" else "idle"
    state = turns.round.round.scheduling_state
    return "paused" if state == "paused" else "failed" if state == "failed" else "writing"


def _sentence(turns: Turns, speakers: Mapping[UUID, SpeakerView]) -> str:
    run = turns.run
    if run is None or run.status not in ("failed", "canceled"):
        return ""
    if run.status == "failed" and run.error:
        return stored_sentence(run.error)
    speaker = speakers.get(run.speaker_membership_id)
    name = speaker.name if speaker else _("a former member")
    return (
        _("The reply of {name} failed.", name=name)
        if run.status == "failed"
        else _("The reply of {name} was stopped.", name=name)
    )


def _now(turns: Turns, speakers: Mapping[UUID, SpeakerView]) -> SlotView | None:
    """Who speaks or is about to."""
    run = turns.run
    if run is None or run.status not in ACTIVE:
        return None
    reason = ASKED.get(run.kind, "")
    if turns.round is not None and run.round_id == turns.round.round.id:
        reason = next(
            (_reason(slot) for slot, _name in turns.round.slots if slot.position == run.round_position), reason
        )
    speaker = speakers.get(run.speaker_membership_id)
    return None if speaker is None else SlotView(speaker=speaker, reason=reason)


def _behind(turns: Turns) -> list[tuple[RoundSlot, str]]:
    """The turns that have not begun: those that `choose_queue` would replace."""
    if turns.round is None:
        return []
    round, run = turns.round.round, turns.run
    is_taken = round.scheduling_state == "ai_generating" or (
        run is not None
        and run.status == "running"
        and run.cancel_requested_at is None
        and (run.round_id, run.round_position) == (round.id, round.current_position)
    )
    first = round.current_position + is_taken
    return [(slot, name) for slot, name in turns.round.slots if slot.position >= first and slot.status == "pending"]


def _places(slots: Sequence[tuple[RoundSlot, str]], speakers: Mapping[UUID, SpeakerView]) -> tuple[SlotView, ...]:
    return tuple(
        SlotView(speaker=speakers.get(slot.membership_id) or _speaker(slot.membership_id, name), reason=_reason(slot))
        for slot, name in slots
    )


def _reason(slot: RoundSlot) -> str:
    """Why it is their turn; the row has it in English, with the values that it is made of."""
    reason = slot.reason
    pool = reason.get("pool", 0)
    match reason.get("cause"):
        case "chosen":
            return _("Chosen manually.")
        case "forced":
            return _("Triggered manually.")
        case "mention":
            return _("Mentioned as “{word}”.", word=reason.get("word", ""))
        case "talkativeness":
            roll, threshold = reason.get("roll", 0), reason.get("threshold", 0)
            return _("Rolled {roll} with a talkativeness of {threshold}.", roll=roll, threshold=threshold)
        case "random":
            return ngettext("Drawn from {count} member.", "Drawn from {count} members.", pool)
        case "list":
            return _("List order: all members reply in turn.")
        case "manual":
            return _("Manual order: drawn at random.")
        case "pooled":
            return _("Pooled order: has not replied since your last message.")
        case "pooled_again":
            return _("Pooled order: all members have replied.")
        case _:
            return str(reason.get("sentence", ""))


def _speaker(id: UUID, name: str, picture_sha256: str | None = None) -> SpeakerView:
    shown = face(name, picture_sha256)
    return SpeakerView(id=str(id), name=shown.name, initials=shown.initials, picture=shown.picture)
