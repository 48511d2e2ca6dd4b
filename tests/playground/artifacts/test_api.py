"""What people see of artifacts and do with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.playground.artifacts.stories import LAST_TWO, keep, retell, value_of
from tests.playground.stories import Story, open_story
from tests.playground.support.web import api_client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def story(database_url: str, tmp_path: Path) -> AsyncIterator[Story]:
    async with open_story(database_url, tmp_path) as told:
        yield told


@pytest.fixture
async def client(story: Story) -> AsyncIterator[httpx2.AsyncClient]:
    async with api_client(story.runtime, story.user_id) as asked:
        yield asked


def at(story: Story) -> str:
    return f"/conversations/{story.conversation_id}/artifacts"


async def test_artifacts_are_listed_as_they_are_at_the_end_of_the_path(
    story: Story, client: httpx2.AsyncClient
) -> None:
    (one,) = await story.narrate("One.")
    await keep(story, one, {"hour": 8})
    await keep(story, one, "Think of the lamp.", tag="plan", content_type="text", kind="any", visibility="prompt_only")
    plan, state = (await client.get(at(story))).json()["items"]
    assert (state["tag"], state["kind"], state["head_version"]) == ("state", "state", 1)
    assert (state["current"]["content"], state["current"]["message_id"]) == ({"hour": 8}, str(one.id))
    assert state["current"]["redacted"] is None
    # What people must not see is a hash and a length.
    assert plan["current"]["content"] is None
    assert plan["current"]["redacted"]["length"] == len("Think of the lamp.")
    assert plan["current"]["redacted"]["hash"].startswith("sha256:")
    await retell(story, one, "Eins.")
    assert (await client.get(at(story))).json()["items"] == []


async def test_history_has_every_version_the_newest_first(story: Story, client: httpx2.AsyncClient) -> None:
    told = await story.narrate("One.", "Two.", "Three.", "Four.")
    for hour, message in enumerate(told):
        await keep(story, message, {"hour": hour}, retention=LAST_TWO)
    first = (await client.get(f"{at(story)}/state/versions?limit=3")).json()
    assert [item["version"] for item in first["items"]] == [4, 3, 2]
    rest = (await client.get(f"{at(story)}/state/versions?limit=3&after={first['next']}")).json()
    assert ([item["content"] for item in rest["items"]], rest["next"]) == ([{"hour": 0}], None)
    assert (await client.get(f"{at(story)}/nothing/versions")).status_code == 404


async def test_an_earlier_version_is_restored_as_the_newest(story: Story, client: httpx2.AsyncClient) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8})
    await keep(story, two, {"hour": 9})
    restored = await client.post(f"{at(story)}/state/restore", json={"version": 1, "based_on_version": 2})
    assert restored.status_code == 201, restored.text
    made = restored.json()
    assert (made["version"], made["based_on_version"], made["content"]) == (3, 2, {"hour": 8})
    assert (made["message_id"], made["pipeline"], made["step"]) == (str(two.id), "world", "")
    assert await value_of(story) == {"hour": 8}
    # What was there before this message is as it was.
    assert await value_of(story, before=two) == {"hour": 8}
    assert "artifact.updated" in await story.events()


async def test_r35_a_restore_from_an_old_version_is_refused(story: Story, client: httpx2.AsyncClient) -> None:
    one, two = await story.narrate("One.", "Two.")
    await keep(story, one, {"hour": 8})
    await keep(story, two, {"hour": 9})
    late = await client.post(f"{at(story)}/state/restore", json={"version": 1, "based_on_version": 1})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "stale")
    assert late.json()["error"]["current"] == (await client.get(at(story))).json()["items"][0]["current"]
    gone = await client.post(f"{at(story)}/state/restore", json={"version": 7, "based_on_version": 2})
    assert gone.status_code == 404


async def test_what_has_become_another_kind_of_content_is_not_restored(
    story: Story, client: httpx2.AsyncClient
) -> None:
    await keep(story, None, "calm", content_type="text")
    await keep(story, None, {"mood": "calm"})
    refused = await client.post(f"{at(story)}/state/restore", json={"version": 1, "based_on_version": 2})
    assert (refused.status_code, refused.json()["error"]["sentence"]) == (
        409,
        "This version is text, and the artifact is json now. Choose a version of the same type.",
    )


async def test_a_session_is_reset_as_a_whole_or_in_part(story: Story, client: httpx2.AsyncClient) -> None:
    (one,) = await story.narrate("One.")
    for tag in ("mood", "sky", "state"):
        await keep(story, one, {"hour": 8}, tag=tag)
    await keep(story, one, {"hour": 9})
    part = await client.post(f"{at(story)}/reset", json={"tags": ["sky", "nothing", "sky"]})
    assert part.json() == {"archived": 1}
    assert [item["tag"] for item in (await client.get(at(story))).json()["items"]] == ["mood", "state"]
    assert (await client.post(f"{at(story)}/reset", json={})).json() == {"archived": 3}
    assert (await client.get(at(story))).json()["items"] == []
    # Nothing is lost: it is in the history, and can be restored.
    again = await client.post(f"{at(story)}/state/restore", json={"version": 2, "based_on_version": None})
    assert (again.status_code, again.json()["version"]) == (201, 3)


async def test_a_conversation_that_is_somebody_elses_has_no_artifacts_for_you(client: httpx2.AsyncClient) -> None:
    elsewhere = "/conversations/00000000-0000-0000-0000-000000000000/artifacts"
    assert (await client.get(elsewhere)).status_code == 404
    assert (await client.post(f"{elsewhere}/reset", json={})).status_code == 404
