"""Two servers on one database, and a tab at each: who comes second is told so, nothing is lost, nothing is doubled."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.playground.races.tabs import Tab, at_once
from tests.playground.support.provider_server import ProviderServer

ROUNDS = 4
SENT = 6
"""How many messages each tab sends."""


def winner_and_loser(answers: list[httpx2.Response]) -> tuple[Any, Any]:
    """What the one who was first got, and what the other was told."""
    first, second = sorted(answers, key=lambda answer: answer.status_code)
    assert (first.status_code, second.status_code) == (200, 409), (first.text, second.text)
    return first.json(), second.json()["error"]


def test_what_two_tabs_send_is_all_there_once(tabs: tuple[Tab, Tab]) -> None:
    story = tabs[0].begin()
    before = tabs[0].messages(story.conversation)
    sent = {str(uuid4()): f"line {number}" for number in range(2 * SENT)}

    def send_all(tab: Tab) -> list[int]:
        return [tab.narrate(story, text, id).status_code for id, text in sent.items()]

    # Both tabs send everything, as if each had not heard whether it arrived.
    assert at_once(lambda: send_all(tabs[0]), lambda: send_all(tabs[1])) == [[201] * len(sent)] * 2
    after = tabs[1].messages(story.conversation)
    said = after[len(before) :]
    assert after[: len(before)] == before
    assert len(said) == len(sent)
    assert {message["id"]: message["content"] for message in said} == sent
    assert [message["seq"] for message in after] == list(range(1, len(after) + 1))
    assert tabs[0].get(f"/conversations/{story.conversation}")["messages_count"] == len(after)


def test_two_tabs_speak_at_once_and_one_is_heard(tabs: tuple[Tab, Tab], model: ProviderServer) -> None:
    for _ in range(ROUNDS):
        story = tabs[0].begin()
        # The reply to the one goes on until the other has been answered, however late that comes.
        with model.holding():
            answers = at_once(*(lambda tab=tab, story=story: tab.send(story, "Hello?") for tab in tabs))
        assert sorted(answer.status_code for answer in answers) == [201, 423]
        said = [message for message in tabs[0].messages(story.conversation) if message["role"] == "user"]
        assert len(said) == 1


def test_of_two_edits_of_the_same_message_one_counts(tabs: tuple[Tab, Tab]) -> None:
    story = tabs[0].begin()
    message = tabs[0].narrate(story, "It is dark.", str(uuid4())).json()
    path, revision = f"/messages/{message['id']}", message["revision"]
    for number in range(ROUNDS):
        texts = (f"left {number}", f"right {number}")
        edits = [
            lambda tab=tab, text=text, revision=revision: tab.ask("PATCH", path, content=text, revision=revision)
            for tab, text in zip(tabs, texts, strict=True)
        ]
        won, told = winner_and_loser(at_once(*edits))
        assert told["code"] == "stale"
        assert told["current"] == won == tabs[0].get(path)
        assert won["content"] in texts
        revision = won["revision"]


def test_a_branch_made_while_others_send_has_what_was_there(tabs: tuple[Tab, Tab]) -> None:
    story = tabs[0].begin()
    sent = [str(uuid4()) for _ in range(SENT)]
    assert tabs[0].narrate(story, "first", sent[0]).status_code == 201
    branch = str(uuid4())

    def send_rest() -> list[int]:
        return [tabs[0].narrate(story, f"line {id}", id).status_code for id in sent[1:]]

    def fork(tab: Tab) -> str:
        path = f"/conversations/{story.conversation}/fork"
        made = tab.ask("POST", path, message_id=sent[0], id=branch).raise_for_status().json()
        return str(made["id"])

    said, *forks = at_once(send_rest, lambda: fork(tabs[1]), lambda: fork(tabs[0]))
    assert said == [201] * (SENT - 1)
    assert forks == [branch, branch]
    whole, part = tabs[0].messages(story.conversation), tabs[1].messages(branch)
    upto = [message for message in whole if message["seq"] <= part[-1]["seq"]]
    assert [message["content"] for message in part] == [message["content"] for message in upto]
    assert [message["seq"] for message in part] == [message["seq"] for message in upto]
    assert part[-1]["content"] == "first"
    assert [message["id"] for message in whole][-SENT:] == sent
    assert tabs[0].get(f"/conversations/{branch}")["messages_count"] == len(part)
    tree = tabs[0].get(f"/conversations/{story.conversation}/tree")["items"]
    assert sorted(item["id"] for item in tree) == sorted([story.conversation, branch])


@pytest.mark.parametrize("layer", ["spaces", "members", "conversations"])
def test_of_two_changes_of_the_same_settings_one_counts(tabs: tuple[Tab, Tab], layer: str) -> None:
    story = tabs[0].begin()
    member = tabs[0].get(f"/spaces/{story.space}/members")["items"][1]["id"]
    id = {"spaces": story.space, "members": member, "conversations": story.conversation}[layer]
    path = f"/{layer}/{id}/settings"
    for version in range(ROUNDS):
        changes = ({"llm": {"top_k": version}}, {"llm": {"temperature": version / 10}})
        patches = [
            lambda tab=tab, change=change, version=version: tab.ask(
                "PATCH", path, settings_version=version, settings=change
            )
            for tab, change in zip(tabs, changes, strict=True)
        ]
        won, told = winner_and_loser(at_once(*patches))
        assert told["code"] == "stale"
        assert told["current"] == won == tabs[1].get(path)
        assert won["settings_version"] == version + 1
