"""The group bar, suggestions and the preview, as a browser uses them with and without scripts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import select

from tavernkit.playground.base.database.models import Conversation
from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.runs.round_control import choose_queue
from tests.playground.runs.group import BROKEN, Group, group_story
from tests.playground.support.jobs import ended_job, running_job_worker
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio

STREAMS = {"Accept": "text/vnd.turbo-stream.html, text/html"}


class GroupPage:
    """A group, and a browser at its chat page."""

    def __init__(self, group: Group, client: httpx2.AsyncClient) -> None:
        self.group = group
        self.client = client
        self.path = f"/conversations/{group.conversation_id}"

    def id(self, name: str) -> str:
        return str(self.group.members[name])

    async def look(self, below: str = "") -> str:
        answer = await self.client.get(f"{self.path}{below}")
        assert answer.status_code == 200, answer.text
        return unescape(answer.text)

    async def bar(self) -> str:
        """What the group bar says; nothing where it is hidden."""
        found = re.search(r'<section id="group_bar".*?</section>\s*(?=<|$)', await self.look(), re.DOTALL)
        assert found is not None
        return "" if " hidden>" in found[0].split("\n", 1)[0] else found[0]

    async def press(self, action: str, **data: object) -> httpx2.Response:
        """Without scripts: the answer leads back to the page."""
        answer = await self.client.post(f"{self.path}/{action}", data=data)
        assert answer.status_code == 303, answer.text
        return answer

    async def send(self, action: str, **data: object) -> httpx2.Response:
        """As the page does it with scripts."""
        return await self.client.post(f"{self.path}/{action}", data=data, headers=STREAMS)


@asynccontextmanager
async def group_page(
    url: str, folder: Path, *names: str, model: ScriptedModel | None = None
) -> AsyncIterator[GroupPage]:
    async with (
        group_story(url, folder, *names, model=model, reply_order="list") as group,
        browser(group.runtime, group.user_id) as client,
    ):
        yield GroupPage(group, client)


async def test_there_is_no_bar_where_one_character_answers(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada") as one:
        assert await one.bar() == ""
        await one.group.say()
        assert await one.bar() == ""
        assert "Impersonate" in await one.look()


async def test_the_bar_says_who_speaks_who_is_next_and_why(database_url: str, tmp_path: Path) -> None:
    async with group_page(database_url, tmp_path, "Ada", "Ben", "Cyd") as three:
        assert "Idle" in await three.bar()
        await three.group.say()
        bar = await three.bar()
        assert bar.index("Ada") < bar.index("Next") < bar.index("Ben") < bar.index("Cyd")
        assert 'class="place" title="List order: all members reply in turn."' in bar
        await three.group.speak()
        assert re.search(r"Now.*Ben.*Next.*Cyd", await three.bar(), re.DOTALL)


async def test_a_round_is_paused_resumed_skipped_and_ended_with_plain_forms(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben", "Cyd") as three:
        await three.group.say()
        paused = await three.press("round/pause")
        assert paused.headers["location"] == three.path
        assert await three.group.state() == ("paused", 0)
        assert "The round is paused." in await three.bar()
        await three.press("round/resume")
        assert await three.group.due() == "Ada"
        await three.press("round/skip")
        assert await three.group.due() == "Ben"
        await three.press("round/stop")
        assert await three.group.round() is None
        assert await three.group.due() is None


async def test_with_scripts_the_answer_draws_the_bar_anew(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.group.say()
        answer = await two.send("round/pause")
        assert answer.status_code == 200
        assert 'action="replace" target="group_bar" method="morph"' in answer.text
        assert "Resume round" in answer.text
        await two.send("round/stop")
        refused = await two.send("round/skip")
        assert refused.status_code == 409
        assert 'target="problem"' in refused.text
        assert "No round is active." in refused.text


async def test_anybody_can_be_let_speak_who_is_muted_too(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.group.mute("Ben")
        assert ">muted<" in await two.bar()
        await two.press("generate", speaker_id=two.id("Ben"))
        assert await two.group.due() == "Ben"
        assert "Triggered manually." in await two.bar()
        await two.group.speak()
        await two.press("generate")
        assert await two.group.due() == "Ada"


async def test_a_failed_reply_says_its_sentence_in_the_bar(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.group.say()
        await two.group.fail()
        bar = await two.bar()
        assert BROKEN["message"] in bar
        assert 'form="retry_form"' in bar
        assert "Skip turn" in bar
        assert "End round" in bar
        assert "Pause round" not in bar


async def test_auto_mode_counts_down_and_one_press_stops_it(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.press("auto-mode", rounds=2)
        assert "2 rounds left" in await two.bar()
        for _ in range(2):
            await two.group.speak()
            two.group.wait(minutes=1)
        assert "1 round left" in await two.bar()
        await two.press("auto-mode", rounds=0)
        assert "left" not in await two.bar()
        for rounds in ("11", "-1", "many", "9" * 50):
            refused = await two.client.post(f"{two.path}/auto-mode", data={"rounds": rounds})
            assert refused.status_code == 422
            assert "whole number from 0 to 10" in refused.text


async def test_the_order_is_changed_with_a_plain_form(database_url: str, tmp_path: Path) -> None:
    async with group_page(database_url, tmp_path, "Ada", "Ben", "Cyd") as three:
        await three.group.say()
        page = await three.look("/round")
        assert "is replying now and is not interrupted" in page
        assert re.findall(r'<option value="[^"]*" selected>(\w+)', page) == ["Ben", "Cyd"]
        [seen] = re.findall(r'name="round_id" value="([^"]+)"', page)
        await three.press("round", round_id=seen, member=[three.id("Cyd"), "", three.id("Cyd"), three.id("Ada")])
        assert [name for name, _ in await three.group.places()] == ["Ada", "Cyd", "Cyd", "Ada"]
        assert await three.group.speak_all() == ["Ada", "Cyd", "Cyd", "Ada"]
        page = await three.look("/round")
        assert "Start round" in page
        await three.press("round", round_id="", member=[three.id("Ben")])
        assert await three.group.due() == "Ben"


async def test_who_saw_another_round_is_shown_the_one_there_is(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben", "Cyd") as three:
        await three.group.say()
        old = await three.group.round()
        assert old is not None
        await three.group.speak_all()
        await three.group.say("Again?")
        form = {"round_id": str(old.id), "member": [three.id("Cyd"), three.id("Ben")]}
        for headers in ({}, STREAMS):
            stale = await three.client.post(f"{three.path}/round", data=form, headers=headers)
            assert stale.status_code == 409
            assert "The round has changed in the meantime." in stale.text
            assert "you chose: Cyd, Ben." in stale.text
            assert re.findall(r'<option value="[^"]*" selected>(\w+)', stale.text) == ["Ben", "Cyd"]
        for broken in ({"round_id": "x"}, {"member": "y"}, {"member": [three.id("Ada")] * 101}):
            refused = await three.client.post(f"{three.path}/round", data=broken)
            assert refused.status_code == 422


async def test_nobody_chosen_begins_no_round(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        refused = await two.client.post(f"{two.path}/round", data={"round_id": "", "member": [""]})
        assert refused.status_code == 409
        assert 'role="alert"' in refused.text
        assert "Start round" in refused.text


async def test_the_copilot_says_how_many_messages_it_has_to_go(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada") as one:
        assert 'data-steps="0"' in await one.look("/copilot")
        await one.press("copilot", steps=3)
        assert "Copilot: 3 left" in await one.look()
        bar = await one.bar()
        assert "Owner" in bar, "somebody else than a character takes turns, so there is a bar"
        await one.group.speak()
        assert 'data-steps="2"' in await one.look("/copilot")
        off = await one.send("copilot", steps=0)
        assert 'target="copilot"' in off.text
        assert 'data-steps="0"' in await one.look("/copilot")
        refused = await one.send("copilot", steps=11)
        assert refused.status_code == 422


async def test_suggestions_can_be_changed_and_sent_without_scripts(sqlite_url: str, tmp_path: Path) -> None:
    model = ScriptedModel("I light the <lamp>.", ModelError("It is asleep.", code="unavailable"))
    async with group_page(sqlite_url, tmp_path, "Ada", model=model) as one:
        asked = await one.press("candidates", count=2)
        below = asked.headers["location"].removeprefix(one.path)
        assert "The suggestions are being generated." in await one.look(below)
        waiting = await one.client.get(asked.headers["location"], headers=STREAMS)
        assert waiting.status_code == 204
        await finished(one.group, below.rpartition("/")[2])
        page = (await one.client.get(asked.headers["location"])).text
        assert "I light the &lt;lamp&gt;.</textarea>" in page
        assert "It is asleep." in page
        over = await one.client.get(asked.headers["location"], headers=STREAMS)
        assert 'target="candidates"' in over.text
        assert await one.group.told() == []


async def test_suggestions_belong_to_a_conversation_and_are_at_most_four(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        drawn = await two.send("candidates", count=4)
        assert drawn.text.count('data-copilot-target="candidate"') == 4
        [job] = re.findall(r'data-job="([^"]+)"', drawn.text)
        async with two.group.runtime.database.read() as session:
            elsewhere = Conversation.id != two.group.conversation_id
            other_id = (await session.scalars(select(Conversation.id).where(elsewhere))).one()
        other = f"/conversations/{other_id}/candidates/{job}"
        assert (await two.client.get(other)).status_code == 404
        assert (await two.send("candidates", count=5)).status_code == 422


async def test_the_preview_shows_blocks_lore_and_the_exact_request(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.group.say("Where is the <ferry>?")
        await two.group.speak("Gone.")
        page = (await two.client.get(f"{two.path}/preview")).text
        assert 'Prompt for <span dir="auto">Ben</span>' in page, "it is Ben's turn"
        assert "Where is the &lt;ferry&gt;?" in page
        assert re.search(r"<strong>[\d,]+ of [\d,]+ tokens used.</strong> Nothing was trimmed.", page)
        assert "No entries activated." in page
        request = (await two.client.get(f"{two.path}/preview?tab=request")).text
        assert "Raw request" in request
        assert "&#34;messages&#34;" in request
        assert 'Prompt for <span dir="auto">Ada</span>' in await two.look(f"/preview?speaker={two.id('Ada')}")
        assert 'Prompt for <span dir="auto">Owner</span>' in await two.look(f"/preview?speaker={two.id('Owner')}")
        assert await two.group.due() == "Ben", "looking changes nothing"


async def test_a_preview_that_cannot_be_is_a_sentence_in_the_frame(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada") as one:
        refused = await one.client.get(f"{one.path}/preview?kind=continue")
        assert refused.status_code == 409
        assert '<turbo-frame id="preview">' in refused.text
        assert "The last message is not a reply, so it cannot be continued." in refused.text


async def test_who_was_chosen_by_hand_is_said_to_be(sqlite_url: str, tmp_path: Path) -> None:
    async with group_page(sqlite_url, tmp_path, "Ada", "Ben") as two:
        await two.group.say()
        round = await two.group.round()
        assert round is not None
        turns = await choose_queue(
            two.group.runtime,
            two.group.viewer,
            two.group.conversation_id,
            round_id=round.id,
            member_ids=[two.group.members["Ben"]] * 3,
        )
        assert turns.round is not None
        assert (await two.bar()).count("Chosen manually.") == 6, "each as a title and in words"


async def finished(group: Group, job_id: str) -> None:
    async with running_job_worker(group.runtime):
        assert (await ended_job(group.runtime, UUID(job_id))).status == "succeeded"
