"""Replies, and people who do things at the same moment in two tabs: nothing is lost, nothing is doubled."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

import httpx2

from tests.playground.races.tabs import Story, Tab, at_once
from tests.playground.support.provider_server import ProviderServer
from tests.support.hanging import wait_until

ROUNDS = 3
QUESTION = "Tell me everything."


def test_a_message_during_a_stop_is_there_if_it_was_accepted(tabs: tuple[Tab, Tab], model: ProviderServer) -> None:
    for _ in range(ROUNDS):
        story = tabs[0].begin()
        greetings = len(tabs[0].messages(story.conversation))
        id = str(uuid4())

        def send(story: Story = story, id: str = id) -> httpx2.Response:
            return tabs[1].send(story, "[[say: Very well.]] And now?", id)

        with model.holding():
            tabs[0].send(story, QUESTION).raise_for_status()
            run_id = tabs[0].until_writing(story)["id"]
            stopped, sent = at_once(partial(tabs[0].ask, "POST", f"/runs/{run_id}/stop"), send)
            tabs[0].until_first_canceled(story)
        assert (stopped.status_code, sent.status_code in (201, 423)) == (200, True)
        tabs[0].until_quiet(story.conversation)
        messages = tabs[1].messages(story.conversation)
        assert (id in [message["id"] for message in messages]) == (sent.status_code == 201)
        replies = [message["content"] for message in messages if message["role"] == "assistant"][greetings:]
        assert replies == (["Very well."] if sent.status_code == 201 else [])
        assert tabs[0].runs(story.conversation)[0]["status"] == "canceled"


def test_a_reply_told_anew_while_it_is_branched_from_is_whole_in_both(tabs: tuple[Tab, Tab]) -> None:
    for _ in range(ROUNDS):
        story = tabs[0].begin()
        tabs[0].send(story, "[[say: As it was.]] Well?").raise_for_status()
        tabs[0].until_quiet(story.conversation)
        reply = tabs[0].messages(story.conversation)[-1]
        branch = str(uuid4())

        def tell_anew(story: Story = story) -> httpx2.Response:
            return tabs[0].ask("POST", f"/conversations/{story.conversation}/regenerate")

        def fork(story: Story = story, branch: str = branch, reply_id: str = reply["id"]) -> httpx2.Response:
            return tabs[1].ask("POST", f"/conversations/{story.conversation}/fork", message_id=reply_id, id=branch)

        assert [answer.status_code for answer in at_once(tell_anew, fork)] == [202, 201]
        tabs[0].until_quiet(story.conversation)
        told, copied = tabs[0].messages(story.conversation)[-1], tabs[1].messages(branch)[-1]
        assert (told["id"], told["swipes_count"]) == (reply["id"], 2)
        assert (copied["content"], copied["swipes_count"]) in [("As it was.", 1), ("As it was.", 2)]
        assert tabs[0].turns(branch)["state"] == "idle"


def test_two_workers_write_each_reply_once(tabs: tuple[Tab, Tab], model: ProviderServer) -> None:
    stories = [tabs[0].begin() for _ in range(6)]

    def send_all(tab: Tab, own: list[Story]) -> list[int]:
        return [tab.send(story, "Hello?").status_code for story in own]

    with model.holding():
        at_once(lambda: send_all(tabs[0], stories[::2]), lambda: send_all(tabs[1], stories[1::2]))
        wait_until(lambda: all(tabs[0].rows.statuses(story.conversation) == ["running"] for story in stories))
    for story in stories:
        tabs[0].until_quiet(story.conversation)
        assert [run["status"] for run in tabs[0].runs(story.conversation)] == ["succeeded"]
        roles = [message["role"] for message in tabs[1].messages(story.conversation)]
        assert roles[-2:] == ["user", "assistant"]
        assert roles.count("user") == 1


def test_messages_that_start_a_reply_anew_are_answered_by_one(tabs: tuple[Tab, Tab], model: ProviderServer) -> None:
    for _ in range(ROUNDS):
        story = tabs[0].begin(during_generation_user_input_policy="restart")
        greetings = len(tabs[0].messages(story.conversation))
        ids = [str(uuid4()) for _ in tabs]
        sends = [
            lambda tab=tab, id=id, story=story: tab.send(story, "[[say: Calm now.]] Wait.", id)
            for tab, id in zip(tabs, ids, strict=True)
        ]
        with model.holding():
            tabs[0].send(story, QUESTION).raise_for_status()
            tabs[0].until_writing(story)
            answers = at_once(*sends)
            tabs[0].until_first_canceled(story)
        assert [answer.status_code for answer in answers] == [201, 201]
        tabs[0].until_quiet(story.conversation)
        messages = tabs[1].messages(story.conversation)
        assert set(ids) <= {message["id"] for message in messages}
        runs = tabs[0].runs(story.conversation)
        statuses = [run["status"] for run in runs]
        assert statuses[0] == "canceled", runs
        assert statuses[-1] == "succeeded"
        replies = [message["content"] for message in messages if message["role"] == "assistant"][greetings:]
        assert replies[-1:] == ["Calm now."]
        assert len(replies) == statuses.count("succeeded")
        assert messages[-1]["role"] == "assistant"


def test_a_member_who_is_removed_while_speaking_makes_room_for_the_next(
    tabs: tuple[Tab, Tab], model: ProviderServer
) -> None:
    names = [tabs[0].character("Ada"), tabs[0].character("Bo")]
    for _ in range(ROUNDS):
        story = tabs[0].begin_with(names, reply_order="list")
        greetings = len(tabs[0].messages(story.conversation))

        def skip(story: Story = story) -> httpx2.Response:
            return tabs[1].ask("POST", f"/conversations/{story.conversation}/round/skip")

        with model.holding():
            tabs[0].send(story, QUESTION).raise_for_status()
            speaker = tabs[0].until_writing(story)["speaker_id"]
            removed, skipped = at_once(partial(tabs[0].ask, "DELETE", f"/members/{speaker}"), skip)
            tabs[0].until_first_canceled(story)
        assert removed.status_code == 200
        assert skipped.status_code in (200, 409)
        tabs[0].until_quiet(story.conversation)
        said = [message for message in tabs[1].messages(story.conversation) if message["role"] == "assistant"]
        assert speaker not in [message["author"]["membership_id"] for message in said[greetings:]]
        runs = tabs[0].runs(story.conversation)
        assert (runs[0]["speaker_id"], runs[0]["status"]) == (speaker, "canceled")
        assert tabs[0].turns(story.conversation)["state"] == "idle", runs


def test_a_reply_that_comes_after_a_new_round_began_moves_nothing(tabs: tuple[Tab, Tab], model: ProviderServer) -> None:
    for _ in range(ROUNDS):
        story = tabs[0].begin(during_generation_user_input_policy="queue")
        before = len(tabs[0].messages(story.conversation))
        with model.holding():
            tabs[0].send(story, "First.").raise_for_status()
            tabs[0].until_writing(story)
            tabs[1].send(story, "[[say: Second it is.]] Second.").raise_for_status()
        tabs[0].until_quiet(story.conversation)
        messages = tabs[1].messages(story.conversation)[before:]
        assert [message["role"] for message in messages] == ["user", "user", "assistant", "assistant"]
        assert messages[-1]["content"] == "Second it is."
        assert [run["status"] for run in tabs[0].runs(story.conversation)] == ["succeeded", "succeeded"]
        assert tabs[0].turns(story.conversation)["round"] is None
