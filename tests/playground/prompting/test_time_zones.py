"""Prompts and greetings have the time of the space's owner."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from tavernkit.playground.base.accounts.profile import set_time_zone, time_of
from tavernkit.playground.base.database.models import Message, User
from tavernkit.playground.story.conversations.service import create_conversation
from tests.playground.prompting.prompt_story import prompt_story, texts
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio

CARD = {"description": "It is {{time}}.", "first_mes": "Good evening, at {{time}}!"}
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("platform", ["sillytavern", "risuai"])
async def test_prompts_and_greetings_have_the_owners_time(sqlite_url: str, tmp_path: Path, platform: str) -> None:
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": CARD}) as story:
        await story.set(prompt={"platform": platform})
        assert await set_time_zone(story.runtime, story.viewer, "Asia/Kolkata") is None
        made = await create_conversation(story.runtime, story.viewer, story.space_id, title="Evening", greeting=True)
        async with story.runtime.database.read() as session:
            greeting = (await session.scalars(select(Message).where(Message.conversation_id == made.id))).one()
        assert _hour(greeting.created_at.astimezone(ZoneInfo("Asia/Kolkata")), platform) in greeting.content
        await story.say_as("Robin", "How late is it?")
        prompt = await story.prompt("Ada")
        assert prompt.inputs.now.utcoffset() == timedelta(hours=5, minutes=30)
        assert any(f"It is {_hour(prompt.inputs.now, platform)}" in text for text in texts(prompt))


def _hour(moment: datetime, platform: str) -> str:
    """The beginning of a time as the platform writes it; the test may be slow, so that minutes do not count."""
    return f"{moment.hour}:" if platform == "risuai" else f"{moment.hour % 12 or 12}:"


async def test_without_a_zone_it_is_the_servers_for_its_only_person_and_utc_for_others(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        for zone in (None, "Nowhere/Land"):
            await story.columns(User, story.user_id, time_zone=zone)
            async with story.runtime.database.read() as session:
                assert (await time_of(session, story.user_id, NOON)).utcoffset() == NOON.astimezone().utcoffset()
        await story.columns(User, story.user_id, password_hash="x")
        async with story.runtime.database.read() as session:
            assert (await time_of(session, story.user_id, NOON)).tzinfo is UTC


@pytest.mark.parametrize("name", ["", "Nowhere/Land", "../../etc/passwd", "Europe", "a" * 65, "Europe/Berlin\x00"])
async def test_what_is_no_time_zone_is_refused(sqlite_url: str, tmp_path: Path, name: str) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        refused = await refusal_of(set_time_zone(story.runtime, story.viewer, name))
        assert refused.code == "invalid"
        assert (await story.row(User, story.user_id)).time_zone is None
