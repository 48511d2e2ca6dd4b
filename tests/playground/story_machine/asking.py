"""Rules for what people want of replies, and what they decide about those that were cut short."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.messages.service import send_message
from tavernkit.playground.story.replies.actions import discard_text, keep_text, request_stop, retry
from tavernkit.playground.story.runs.requests import continue_reply, force_talk, impersonate, regenerate
from tavernkit.playground.story.runs.round_control import (
    choose_queue,
    pause_round,
    resume_round,
    set_auto_mode,
    set_copilot,
    skip_turn,
    stop_round,
)
from tavernkit.playground.story.runs.speakers import can_speak, is_group
from tavernkit.playground.story.settings.service import change_space_settings, read_space_settings
from tavernkit.values import Json
from tests.playground.story_machine.model import Line
from tests.playground.story_machine.stage import MAX_LINES, places, texts
from tests.playground.story_machine.stored import Stored
from tests.playground.story_machine.working import Deed, Working, deeds

__all__ = ["MANNERS", "Asking"]

MANNERS: dict[str, Json] = {
    "during_generation_user_input_policy": "reject",
    "reply_order": "natural",
    "group_regenerate_mode": "single_message",
    "user_turn_debounce_ms": 0,
    "allow_self_responses": False,
    "auto_mode_enabled": False,
}
"""How turns are taken in a space that nobody has changed yet."""

changes = st.one_of(
    st.tuples(st.just("during_generation_user_input_policy"), st.sampled_from(["reject", "queue", "restart"])),
    st.tuples(st.just("reply_order"), st.sampled_from(["manual", "natural", "list", "pooled"])),
    st.tuples(st.just("group_regenerate_mode"), st.sampled_from(["single_message", "last_turn"])),
    st.tuples(st.just("user_turn_debounce_ms"), st.sampled_from([0, 800])),
    st.tuples(st.just("allow_self_responses"), st.booleans()),
    st.tuples(st.just("auto_mode_enabled"), st.booleans()),
)


class Asking(Working):
    @rule(change=changes)
    def change_manners(self, change: tuple[str, Json]) -> None:
        name, value = change
        before = self.do(read_space_settings(self.runtime, self.viewer, self.space_id))
        self.do(
            change_space_settings(
                self.runtime,
                self.viewer,
                self.space_id,
                patch={"space": {name: value}},
                settings_version=before.settings_version,
            )
        )
        self.manners[name] = value

    @rule(place=places, text=texts, to_somebody=st.booleans(), deed=deeds)
    def send(self, place: int, text: str, to_somebody: bool, deed: Deed) -> None:
        line, id = self.line(place), self.runtime.ids()
        before = self.stored[line.id]
        speaker_id = self._character(before, place) if to_somebody else None
        sending = send_message(self.runtime, self.viewer, line.id, message_id=id, content=text, speaker_id=speaker_id)
        if self.has_copilot(line):
            assert self.refuse(sending).code == "copilot_blocked"
        elif self._policy == "reject" and self._is_locked(before):
            assert self.refuse(sending).code == "generation_locked"
        else:
            self.do(sending)
            line.add(id, "user", text)
            again = send_message(self.runtime, self.viewer, line.id, message_id=id, content="Again.")
            assert self.do(again).content == text
            self.look()
            self._check_answer(before, self.stored[line.id], id, speaker_id)
        self.let_work(deed)

    @rule(place=places, how=st.sampled_from(["somebody", "this one", "continue", "impersonate"]), deed=deeds)
    def ask(self, place: int, how: Literal["somebody", "this one", "continue", "impersonate"], deed: Deed) -> None:
        line = self.line(place)
        now = self.stored[line.id]
        match how:
            case "somebody":
                run = self.attempt(force_talk(self.runtime, self.viewer, line.id))
            case "this one":
                speaker_id = self._character(now, place)
                run = self.attempt(force_talk(self.runtime, self.viewer, line.id, speaker_id=speaker_id))
            case "continue":
                run = self.attempt(continue_reply(self.runtime, self.viewer, line.id))
            case "impersonate":
                run = self.attempt(impersonate(self.runtime, self.viewer, line.id))
        is_locked = self._policy == "reject" and now.running is not None
        if isinstance(run, Refused):
            assert run.code == "conflict" or (is_locked and run.code == "generation_locked")
        else:
            assert not is_locked
            assert (run.status, run.conversation_id) == ("queued", line.id)
            assert run.target_message_id == (line.visible[-1].id if how == "continue" else None)
        self.let_work(deed)

    @precondition(lambda self: len(self.lines) < MAX_LINES)
    @rule(place=places, deed=deeds)
    def tell_the_last_reply_anew(self, place: int, deed: Deed) -> None:
        line = self.line(place)
        run = self.attempt(regenerate(self.runtime, self.viewer, line.id))
        if isinstance(run, Refused):
            assert run.code in ("conflict", "not_found")
        elif self.manners["group_regenerate_mode"] == "last_turn" and self._is_group(line):
            asked = [told for told in line.visible if told.role == "user"][-1]
            if run.conversation_id != line.id:
                self.add_branch(line, asked, run.conversation_id)
            else:
                for told in line.visible:
                    if told.seq > asked.seq:
                        told.hide()
        else:
            assert (run.conversation_id, run.target_message_id) == (line.id, line.visible[-1].id)
        self.let_work(deed)

    @precondition(lambda self: len(self.lines) < MAX_LINES and any(line.visible for line in self.lines))
    @rule(place=places, deed=deeds)
    def tell_a_reply_anew(self, place: int, deed: Deed) -> None:
        line, told = self.message(place)
        run = self.attempt(regenerate(self.runtime, self.viewer, line.id, message_id=told.id, only_message=True))
        if isinstance(run, Refused):
            assert run.code == "conflict"
        elif told is line.visible[-1]:
            assert (run.conversation_id, run.target_message_id) == (line.id, told.id)
        else:
            assert run.conversation_id != line.id
            self.add_branch(line, told, run.conversation_id)
        self.let_work(deed)

    @rule(place=places, deed=deeds)
    def stop(self, place: int, deed: Deed) -> None:
        runs = [run for stored in self.stored.values() for run in (stored.running, stored.queued) if run]
        if runs:
            run = runs[place % len(runs)]
            stopped = self.do(request_stop(self.runtime, self.viewer, run.id))
            assert stopped.status == ("running" if run.status == "running" else "canceled")
            assert stopped.cancel_requested_at is not None
        self.let_work(deed)

    @rule(place=places, how=st.sampled_from(["keep", "discard", "retry"]), deed=deeds)
    def decide(self, place: int, how: Literal["keep", "discard", "retry"], deed: Deed) -> None:
        runs = [(line, run) for line in self.lines for run in self.stored[line.id].runs]
        # Most often what there is to decide.
        runs = [(line, run) for line, run in runs if place % 4 == 0 or not run.dismissed]
        if runs:
            line, run = runs[place % len(runs)]
            match how:
                case "keep":
                    self._keep(line, run)
                case "discard":
                    self._discard(run)
                case "retry":
                    self._retry(line)
        self.let_work(deed)

    @rule(
        place=places,
        how=st.sampled_from(["pause", "resume", "skip", "stop", "choose"]),
        speakers=st.lists(places, max_size=3),
        deed=deeds,
    )
    def direct(
        self,
        place: int,
        how: Literal["pause", "resume", "skip", "stop", "choose"],
        speakers: list[int],
        deed: Deed,
    ) -> None:
        going_on = [line for line in self.lines if self.stored[line.id].round is not None]
        line = going_on[place % len(going_on)] if going_on else self.line(place)
        if how == "choose":
            self._choose(line, speakers)
        elif not going_on:
            assert self.refuse(skip_turn(self.runtime, self.viewer, line.id)).code == "conflict"
        elif how == "resume" and self.stored[line.id].speaking is not None:
            assert self.refuse(resume_round(self.runtime, self.viewer, line.id)).code == "conflict"
        else:
            actions = {"pause": pause_round, "resume": resume_round, "skip": skip_turn, "stop": stop_round}
            self.do(actions[how](self.runtime, self.viewer, line.id))
        self.let_work(deed)

    @rule(place=places, who=st.sampled_from(["characters", "a model for me"]), times=st.integers(0, 2), deed=deeds)
    def let_go_on(self, place: int, who: Literal["characters", "a model for me"], times: int, deed: Deed) -> None:
        line = self.line(place)
        if who == "a model for me":
            self.do(set_copilot(self.runtime, self.viewer, line.id, steps=times))
        elif times and not self._is_group(line):
            assert self.refuse(set_auto_mode(self.runtime, self.viewer, line.id, rounds=times)).code == "conflict"
        else:
            self.do(set_auto_mode(self.runtime, self.viewer, line.id, rounds=times))
        self.let_work(deed)

    def _keep(self, line: Line, run: Run) -> None:
        keeping = keep_text(self.runtime, self.viewer, run.id)
        if run.status not in ("failed", "canceled") or run.dismissed or not run.text:
            assert self.refuse(keeping).code == "nothing_to_keep"
            return
        target = line.find(run.target_message_id)
        text = f"{target.texts[target.active]} {run.text}" if target and run.kind == "continue" else run.text
        message = self.do(keeping)
        line.reply(run, message.id, text, {})
        line.kept.add(run.id)

    def _discard(self, run: Run) -> None:
        discarding = discard_text(self.runtime, self.viewer, run.id)
        if run.status in ("failed", "canceled"):
            assert self.do(discarding).dismissed
        else:
            assert self.refuse(discarding).code == "conflict"

    def _retry(self, line: Line) -> None:
        run = self.attempt(retry(self.runtime, self.viewer, line.id))
        if self.stored[line.id].speaking is not None:
            assert isinstance(run, Refused)
            assert run.code == "generation_locked"
        elif isinstance(run, Refused):
            assert run.code in ("nothing_to_retry", "conflict")
        else:
            assert (run.status, run.conversation_id) == ("queued", line.id)

    def _choose(self, line: Line, speakers: list[int]) -> None:
        now = self.stored[line.id]
        able = self._able(now)
        chosen = [able[speaker % len(able)] for speaker in speakers] if able else []
        round_id = None if now.round is None else now.round.id
        turns = self.attempt(choose_queue(self.runtime, self.viewer, line.id, round_id=round_id, member_ids=chosen))
        if isinstance(turns, Refused):
            assert round_id is None
            assert turns.code in ("conflict", "generation_locked")

    def _check_answer(self, before: Stored, now: Stored, message_id: UUID, speaker_id: UUID | None) -> None:
        """What was said is going to be answered, and what was being written is treated as the space wants it."""
        if before.running is not None:
            was_stopped = before.running.cancel_requested_at is not None
            assert now.running is not None
            assert (now.running.cancel_requested_at is not None) == (was_stopped or self._policy == "restart")
        if speaker_id is not None:
            assert now.round is None
            assert now.queued is not None
            assert (now.queued.kind, now.queued.speaker_membership_id) == ("force_talk", speaker_id)
        elif self.manners["reply_order"] != "manual" and self._able(now):
            assert now.round is not None
            assert now.queued is not None
            assert (now.round.trigger_message_id, now.queued.round_id) == (message_id, now.round.id)
        else:
            assert now.round is None
            assert now.queued is None

    def _is_locked(self, now: Stored) -> bool:
        """Whether a reply is being written, or is queued and does not wait for further messages."""
        run = now.speaking
        waits = self.manners["user_turn_debounce_ms"] != 0 and run is not None and run.status == "queued"
        return run is not None and not (waits and run.kind == "user_turn" and run.round_position == 0)

    @property
    def _policy(self) -> Json:
        return self.manners["during_generation_user_input_policy"]

    def _is_group(self, line: Line) -> bool:
        members = self.stored[line.id].members.values()
        return is_group([member for member in members if member.status == "active"])

    def _able(self, stored: Stored) -> list[UUID]:
        """Whoever may speak unasked."""
        return [member.id for member in stored.members.values() if can_speak(member, stored.conversation.id)]

    def _character(self, stored: Stored, place: int) -> UUID:
        """Some character that is there, muted or not."""
        ids = [
            member.id for member in stored.members.values() if member.kind == "character" and member.status == "active"
        ]
        return ids[place % len(ids)]
