"""Whoever stops a reply leaves the provider at once, whatever that is doing: nobody pays for what nobody reads."""

from pathlib import Path

import pytest

from tavernkit.playground.story.replies.actions import request_stop
from tests.playground.faults.application import PATHS, ProviderPlay, application
from tests.playground.support.provider_server import ProviderServer
from tests.support.hanging import eventually

pytestmark = pytest.mark.anyio


async def stop(play: ProviderPlay) -> None:
    run = await play.run()
    await request_stop(play.runtime, play.viewer, run.id)
    await play.until(lambda run: run.status == "canceled")


async def test_stopping_closes_the_connection_of_a_provider_that_is_silent(
    database_url: str, tmp_path: Path, provider: ProviderServer
) -> None:
    await it_is_left(database_url, tmp_path, provider)


@pytest.mark.parametrize("kind", [kind for kind in PATHS if kind != "openai"])
async def test_stopping_closes_the_connection_in_every_protocol(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer, kind: str
) -> None:
    await it_is_left(sqlite_url, tmp_path, provider, kind)


async def it_is_left(url: str, folder: Path, provider: ProviderServer, kind: str = "openai") -> None:
    async with application(url, folder, provider.address, kind=kind, model="fault:silence") as play:
        await play.say()
        await play.until(lambda run: bool(play.runtime.live_text.get(run.id)))
        await stop(play)
        await play.until_left()
        assert (await play.run()).text


async def test_stopping_closes_the_connection_of_a_provider_that_keeps_talking(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer
) -> None:
    provider.begin_anew(delay=0.005)
    async with application(
        sqlite_url, tmp_path, provider.address, model="fault:endless", response_tokens=100_000
    ) as play:
        await play.say()
        await play.until(lambda run: bool(play.runtime.live_text.get(run.id)))
        await stop(play)
        await play.until_left()


async def test_stopping_closes_the_connection_of_a_provider_that_has_not_begun(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer
) -> None:
    async with application(sqlite_url, tmp_path, provider.address, model="fault:slow:3600") as play:
        await play.say()
        await eventually(lambda: bool(provider.bodies))
        await stop(play)
        await play.until_left()
        assert (await play.run()).text == ""


async def test_stopping_ends_the_wait_for_another_attempt(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer
) -> None:
    async with application(sqlite_url, tmp_path, provider.address, model="fault:first:1:429:20") as play:
        await play.say()
        await eventually(lambda: bool(provider.bodies))
        await stop(play)
        assert len(provider.bodies) == 1
