"""Rules for what people do to messages, lines, members and settings."""

from __future__ import annotations

from functools import partial
from typing import Literal
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tavernkit.playground.story.conversations.forking import ForkKind, fork
from tavernkit.playground.story.members.service import add_member, change_member, remove_member
from tavernkit.playground.story.messages.service import (
    add_swipe,
    delete_swipe,
    edit_message,
    edit_swipe,
    exclude_message,
    hide_message,
    include_message,
    restore_message,
    select_swipe,
    send_message,
)
from tavernkit.playground.story.paths.variables import VARIABLES, delete_variable, set_variable
from tavernkit.playground.story.settings.service import (
    change_conversation_settings,
    change_space_settings,
    read_conversation_settings,
    read_space_settings,
)
from tavernkit.values import Json
from tests.playground.story_machine.model import UNSET, Line, Told
from tests.playground.story_machine.stage import MAX_LINES, Stage, places, texts
from tests.playground.story_machine.working import Deed, Working, deeds

__all__ = ["Telling"]

names = st.sampled_from(["gold", "hope"])
values = st.sampled_from([None, 1, "much", [1, 2], UNSET])


def something_is_told(stage: Stage) -> bool:
    return any(line.visible for line in stage.lines)


class Telling(Working):
    @rule(place=places, text=texts, gold=st.integers(0, 9))
    def narrate(self, place: int, text: str, gold: int) -> None:
        line, id = self.line(place), self.runtime.ids()
        sending = send_message(self.runtime, self.viewer, line.id, message_id=id, content=text, role="system")
        if self.has_copilot(line):
            assert self.refuse(sending).code == "copilot_blocked"
            return
        self.do(sending)
        told = line.add(id, "system", text)
        if gold:
            self.do(set_variable(self.runtime, self.viewer, line.id, "gold", gold))
            told.deltas[0][f"{VARIABLES}gold"] = gold

    @precondition(something_is_told)
    @rule(place=places, text=texts)
    def edit(self, place: int, text: str) -> None:
        _, told = self.message(place)
        late = edit_message(self.runtime, self.viewer, told.id, content="Late.", revision=told.revision + 1)
        refused = self.refuse(late)
        assert (refused.code, refused.current["content"]) == ("stale", told.texts[told.active])
        self.do(edit_message(self.runtime, self.viewer, told.id, content=text, revision=told.revision))
        if told.texts[told.active] != text:
            told.texts[told.active] = text
            told.change()

    @precondition(something_is_told)
    @rule(place=places, which=places, text=texts, how=st.sampled_from(["add", "show", "edit", "delete"]))
    def change_swipes(self, place: int, which: int, text: str, how: Literal["add", "show", "edit", "delete"]) -> None:
        line, told = self.message(place)
        match how:
            case "add":
                self._add_swipe(told, text, activate=bool(which % 2))
            case "show":
                self._show_swipe(told, "left" if which % 2 else "right")
            case "edit":
                self._edit_swipe(line, told, which % len(told.texts), text)
            case "delete":
                self._delete_swipe(line, told, which % len(told.texts))

    @precondition(something_is_told)
    @rule(place=places, deed=deeds)
    def hide(self, place: int, deed: Deed) -> None:
        """Every other time the end of a line, where somebody may be speaking."""
        ends = [line.visible[-1] for line in self.lines if line.visible]
        told = ends[place % len(ends)] if deed.begun else self.message(place)[1]
        self.do(hide_message(self.runtime, self.viewer, told.id))
        told.hide()
        late = edit_message(self.runtime, self.viewer, told.id, content="Late.", revision=told.revision)
        assert self.refuse(late).code == "conflict"
        self.let_work(deed)

    @precondition(lambda self: any(told.hidden for line in self.lines for told in line.told))
    @rule(place=places)
    def undo(self, place: int) -> None:
        hidden = [told for line in self.lines for told in line.told if told.hidden]
        told = hidden[place % len(hidden)]
        self.do(restore_message(self.runtime, self.viewer, told.id))
        told.hidden = False
        told.change()

    @precondition(something_is_told)
    @rule(place=places)
    def toggle_exclusion(self, place: int) -> None:
        _, told = self.message(place)
        if told.visibility == "normal":
            self.do(exclude_message(self.runtime, self.viewer, told.id))
            told.visibility = "excluded"
        else:
            self.do(include_message(self.runtime, self.viewer, told.id))
            told.visibility = "normal"
        told.change()

    @precondition(lambda self: len(self.lines) < MAX_LINES and something_is_told(self))
    @rule(place=places, kind=st.sampled_from(["branch", "thread", "checkpoint"]))
    def fork(self, place: int, kind: ForkKind) -> None:
        line, told = self.message(place)
        child = self.do(fork(self.runtime, self.viewer, line.id, told.id, kind=kind))
        self.add_branch(line, told, child.id)

    @rule(place=places, name=names, value=values)
    def change_a_variable(self, place: int, name: str, value: Json) -> None:
        line, variable = self.line(place), VARIABLES + name
        if value is UNSET and variable not in line.state(line.last_seq):
            assert self.refuse(delete_variable(self.runtime, self.viewer, line.id, name)).code == "not_found"
            return
        if value is UNSET:
            self.do(delete_variable(self.runtime, self.viewer, line.id, name))
        else:
            self.do(set_variable(self.runtime, self.viewer, line.id, name, value))
        if line.visible:
            last = line.visible[-1]
            last.deltas[last.active][variable] = value
        elif value is UNSET:
            del line.beginning[variable]
        else:
            line.beginning[variable] = value

    @rule(deed=deeds)
    def let_the_guest_in_or_out(self, deed: Deed) -> None:
        if self.guest is not None and self.guest_is_here:
            removed = self.do(remove_member(self.runtime, self.viewer, self.guest, reason="Late."))
            assert (removed.status, removed.participation, removed.copilot_mode) == ("removed", "muted", "none")
        else:
            character_id = self.theatre.guest_id
            member = self.do(add_member(self.runtime, self.viewer, self.space_id, character_id=character_id))
            assert self.guest in (None, member.id), "who comes back is the same member"
            self.guest = member.id
            twice = add_member(self.runtime, self.viewer, self.space_id, character_id=character_id)
            assert self.refuse(twice).code == "conflict"
        self.guest_is_here = not self.guest_is_here
        self.let_work(deed)

    @rule(place=places, deed=deeds)
    def mute_or_unmute(self, place: int, deed: Deed) -> None:
        members = [
            member
            for member in self.stored[self.lines[0].id].members.values()
            if member.kind == "character" and member.status == "active"
        ]
        member = members[place % len(members)]
        changes = {"participation": "active" if member.participation == "muted" else "muted"}
        self.do(
            change_member(
                self.runtime, self.viewer, member.id, settings_version=member.settings_version, changes=changes
            )
        )
        self.let_work(deed)

    @rule(place=places, layer=st.sampled_from(["space", "conversation"]), depth=st.integers(0, 9))
    def change_settings(self, place: int, layer: Literal["space", "conversation"], depth: int) -> None:
        line = self.line(place)
        patch: dict[str, Json] = {"authors_note": {"depth": depth}}
        if layer == "space":
            before = self.do(read_space_settings(self.runtime, self.viewer, self.space_id))
            change = partial(change_space_settings, self.runtime, self.viewer, self.space_id, patch=patch)
        else:
            before = self.do(read_conversation_settings(self.runtime, self.viewer, line.id))
            change = partial(change_conversation_settings, self.runtime, self.viewer, line.id, patch=patch)
        self.do(change(settings_version=before.settings_version))
        late = self.refuse(change(settings_version=before.settings_version))
        assert (late.code, late.current["settings_version"]) == ("stale", before.settings_version + 1)
        self.depths["space" if layer == "space" else str(line.id)] = depth

    def _swipe_id(self, line: Line, told: Told, position: int) -> UUID:
        return self.stored[line.id].swipes[told.id][position].id

    def _add_swipe(self, told: Told, text: str, *, activate: bool) -> None:
        id = self.runtime.ids()
        self.do(add_swipe(self.runtime, self.viewer, told.id, swipe_id=id, content=text, activate=activate))
        told.add_swipe(text, activate=activate, delta={})

    def _show_swipe(self, told: Told, to: Literal["left", "right"]) -> None:
        self.do(select_swipe(self.runtime, self.viewer, told.id, to, revision=told.revision))
        active = max(told.active - 1, 0) if to == "left" else min(told.active + 1, len(told.texts) - 1)
        if active != told.active:
            told.active = active
            told.change()

    def _edit_swipe(self, line: Line, told: Told, position: int, text: str) -> None:
        swipe_id = self._swipe_id(line, told, position)
        self.do(edit_swipe(self.runtime, self.viewer, told.id, swipe_id, content=text, revision=None))
        if told.texts[position] != text:
            told.texts[position] = text
            told.change()

    def _delete_swipe(self, line: Line, told: Told, position: int) -> None:
        removal = delete_swipe(self.runtime, self.viewer, told.id, self._swipe_id(line, told, position))
        if len(told.texts) == 1:
            assert self.refuse(removal).code == "conflict"
            return
        self.do(removal)
        run_id = told.runs.pop(position)
        if run_id is not None:
            line.deleted.add(run_id)
        del told.texts[position], told.deltas[position]
        told.change()
        if position < told.active or (position == told.active and position > 0):
            told.active -= 1
