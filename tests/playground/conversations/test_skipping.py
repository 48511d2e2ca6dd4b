"""What the page offers when a reply of a group was cut short."""

import re
from pathlib import Path
from urllib.parse import urljoin

import httpx2
import pytest

from tavernkit.playground.story.runs.service import fail_run
from tests.playground.runs.group import Group, group_story
from tests.playground.support.web import ORIGIN, api_client

pytestmark = pytest.mark.anyio

BROKEN = {"code": "connection_error", "message": "Nobody answers there."}


async def test_a_turn_can_be_passed_over_while_others_are_to_speak(database_url: str, tmp_path: Path) -> None:
    async with (
        group_story(database_url, tmp_path, "Ada", "Bo", reply_order="list") as group,
        api_client(group.runtime, group.user_id) as client,
    ):
        await group.say()
        assert await _buttons(client, group) == ["Stop"]
        await _fail(group)
        assert await _buttons(client, group) == ["Retry", "Keep", "Skip", "End round"]
        skipped = await client.post(_page(group, "/skip"))
        assert (skipped.status_code, skipped.headers["location"]) == (303, f"/conversations/{group.conversation_id}")
        await _fail(group)
        assert await _buttons(client, group) == ["Retry", "Keep", "Discard"]
        await client.post(_page(group, "/skip"))
        assert await _buttons(client, group) == []
        assert (await client.post(_page(group, "/skip"))).status_code == 409


async def _fail(group: Group) -> None:
    assert await fail_run(group.runtime, await group.claim(), "Well, I", BROKEN)


async def _buttons(client: httpx2.AsyncClient, group: Group) -> list[str]:
    """The buttons beside the reply."""
    html = (await client.get(_page(group))).text
    shown = html[html.index('<div id="run"') : html.index('<form id="retry_form"')]
    buttons = re.findall(r"<button.*?</button>", shown, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", button).strip() for button in buttons]


def _page(group: Group, action: str = "") -> str:
    return urljoin(ORIGIN, f"/conversations/{group.conversation_id}{action}")
