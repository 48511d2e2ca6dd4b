"""Whoever stops a reply leaves the provider at once, whatever that is doing: nobody pays for what nobody reads."""

from pathlib import Path

import pytest

from tavernkit.playground.story.replies.actions import request_stop
from tests.playground.faults.wired import PATHS, Wired, scripted, wired

pytestmark = pytest.mark.anyio


async def stopped(play: Wired) -> None:
    run = await play.run()
    await request_stop(play.runtime, play.viewer, run.id)
    await play.until(lambda run: run.status == "canceled")


async def test_stopping_closes_the_connection_of_a_provider_that_is_silent(database_url: str, tmp_path: Path) -> None:
    await it_is_left(database_url, tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in PATHS if kind != "openai"])
async def test_so_it_is_closed_in_every_protocol(migrated_sqlite_url: str, tmp_path: Path, kind: str) -> None:
    await it_is_left(migrated_sqlite_url, tmp_path, kind)


async def it_is_left(url: str, folder: Path, kind: str = "openai") -> None:
    with scripted() as address:
        async with wired(url, folder, address, kind=kind, model="fault:silence") as play:
            await play.say()
            await play.until(lambda run: bool(play.runtime.live_text.get(run.id)))
            await stopped(play)
            await play.until_left()
            assert (await play.run()).text


async def test_stopping_closes_the_connection_of_a_provider_that_keeps_talking(
    database_url: str, tmp_path: Path
) -> None:
    with scripted(delay=0.005) as address:
        async with wired(database_url, tmp_path, address, model="fault:endless", response_tokens=100_000) as play:
            await play.say()
            await play.until(lambda run: bool(play.runtime.live_text.get(run.id)))
            await stopped(play)
            await play.until_left()


async def test_stopping_closes_the_connection_of_a_provider_that_has_not_begun(
    database_url: str, tmp_path: Path
) -> None:
    with scripted() as address:
        async with wired(database_url, tmp_path, address, model="fault:slow:60") as play:
            await play.say()
            await play.until_asked()
            await stopped(play)
            await play.until_left()
            assert (await play.run()).text == ""


async def test_stopping_ends_the_wait_for_another_attempt(database_url: str, tmp_path: Path) -> None:
    with scripted() as address:
        async with wired(database_url, tmp_path, address, model="fault:first:1:429:20") as play:
            await play.say()
            await play.until_asked()
            await stopped(play)
            assert len(await play.requests()) == 1
