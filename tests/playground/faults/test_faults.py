"""Whatever goes wrong with a provider: the run says what and what to do, keeps the text so far, and can be repeated.

A model called `fault:first:…` goes wrong as often as its name says, and then answers: by then it has recovered.
"""

import json
import socket
from pathlib import Path
from typing import NamedTuple

import pytest

from tavernkit.playground.base.database.models import Run
from tavernkit.playground.base.llm.scripted import canned_reply
from tavernkit.playground.story.providers.documents import TimeoutsIn
from tests.playground.faults.application import KEY, PATHS, PATIENT, application
from tests.playground.support.provider_server import ProviderServer, provider_server

pytestmark = pytest.mark.anyio

QUESTION = "Is anybody there?"
REPLY = canned_reply(QUESTION)
ATTEMPTS = 3


class Fault(NamedTuple):
    """How a run with this model ends; `asked` is how often the provider was asked for it.

    `begun` says that half of the reply had come.
    """

    model: str
    code: str
    words: str
    asked: int = 1
    begun: bool = False

    timeouts: TimeoutsIn = PATIENT


FAULTS = {
    "slow first byte": Fault(
        "fault:first:1:slow:3600",
        "timeout",
        "sent nothing for 0.2 seconds. It may be overloaded",
        timeouts=TimeoutsIn(connect=1, first_byte=0.2),
    ),
    "silence": Fault(
        "fault:first:1:silence",
        "timeout",
        "sent nothing for 0.5 seconds",
        begun=True,
        timeouts=TimeoutsIn(first_byte=60, between_chunks=0.5),
    ),
    "cut": Fault("fault:first:1:cut", "connection_error", "ended before the reply was complete. Try", begun=True),
    "429, exhausted": Fault("fault:first:3:429:0", "http_error", "Wait 1 second and try again", asked=ATTEMPTS),
    "429, too long a wait": Fault("fault:first:1:429:60", "http_error", "Wait 60 seconds and try again"),
    "500": Fault("fault:first:3:500", "http_error", "(status 500). Try again later", asked=ATTEMPTS),
    "401": Fault("fault:first:1:401", "http_error", "refused the API key. Check the key"),
    "malformed event": Fault(
        "fault:first:1:malformed", "bad_response", "in the middle of the reply. Try again", begun=True
    ),
    "complaint": Fault("fault:first:1:complaint", "http_error", "Try again later", begun=True),
    "empty reply": Fault("fault:first:1:empty", "empty_response", "sent an empty reply. Retry or choose another"),
    "wrong content type": Fault(
        "fault:first:1:html", "bad_response", "unexpected answer: a web page. Enter the base URL"
    ),
}
IN_EVERY_PROTOCOL = ("silence", "cut", "429, exhausted", "malformed event", "complaint", "empty reply")
"""What each protocol reads in its own way."""

OTHERS = [kind for kind in PATHS if kind != "openai"]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_a_fault_ends_the_run_with_a_sentence_and_retry_works(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer, caplog: pytest.LogCaptureFixture, fault: Fault
) -> None:
    await it_fails_and_recovers(sqlite_url, tmp_path, provider, fault)
    assert KEY not in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("fault", [FAULTS["cut"], FAULTS["401"]], ids=["in the middle of a reply", "before it"])
async def test_a_fault_ends_the_run_and_retry_works_on_postgresql(
    postgres_story_url: str, tmp_path: Path, provider: ProviderServer, fault: Fault
) -> None:
    await it_fails_and_recovers(postgres_story_url, tmp_path, provider, fault)


@pytest.mark.parametrize("fault", [FAULTS[name] for name in IN_EVERY_PROTOCOL], ids=IN_EVERY_PROTOCOL)
@pytest.mark.parametrize("kind", OTHERS)
async def test_a_fault_ends_the_run_and_retry_works_in_every_protocol(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer, kind: str, fault: Fault
) -> None:
    await it_fails_and_recovers(sqlite_url, tmp_path, provider, fault, kind)


async def it_fails_and_recovers(
    url: str, folder: Path, provider: ProviderServer, fault: Fault, kind: str = "openai"
) -> None:
    async with application(
        url, folder, provider.address, kind=kind, model=fault.model, timeouts=fault.timeouts
    ) as play:
        await play.say(QUESTION)
        failed = await play.ended()
        it_says(failed, fault.code, fault.words)
        assert (failed.text != "", REPLY.startswith(failed.text)) == (fault.begun, True)
        assert await play.messages() == [("user", QUESTION)]
        assert len(provider.bodies) == fault.asked
        assert (await play.again()).status == "succeeded"
        assert await play.messages() == [("user", QUESTION), ("assistant", REPLY)]
        assert len(provider.bodies) == fault.asked + 1


def it_says(failed: Run, code: str, words: str) -> None:
    assert (failed.status, failed.error is None) == ("failed", False)
    error = failed.error or {}
    assert error["code"] == code
    assert words in error["message"]
    assert "\n" not in error["message"]
    assert KEY not in json.dumps([failed.error, failed.debug])


async def test_a_server_that_is_not_there_is_asked_in_vain_until_it_is(sqlite_url: str, tmp_path: Path) -> None:
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))  # nobody listens yet
        address = f"http://127.0.0.1:{port.getsockname()[1]}"
        async with application(sqlite_url, tmp_path, address, model="scripted") as play:
            await play.say(QUESTION)
            failed = await play.ended()
            it_says(failed, "connection_error", "cannot be reached")
            it_says(failed, "connection_error", "Check the address and that the server is running.")
            assert failed.text == ""
            port.listen()
            with provider_server(listener=port) as provider:
                assert (await play.again()).status == "succeeded"
                assert len(provider.bodies) == 1
            assert await play.messages() == [("user", QUESTION), ("assistant", REPLY)]


@pytest.mark.parametrize("fault", ["429:0", "503"])
async def test_what_passes_within_the_attempts_is_not_noticed(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer, fault: str
) -> None:
    async with application(sqlite_url, tmp_path, provider.address, model=f"fault:first:2:{fault}") as play:
        await play.say(QUESTION)
        run = await play.ended()
        assert (run.status, run.error) == ("succeeded", None)
        assert await play.messages() == [("user", QUESTION), ("assistant", REPLY)]
        first, *others = provider.bodies
        assert others == [first] * (ATTEMPTS - 1)


@pytest.mark.parametrize("kind", PATHS)
async def test_a_reply_without_end_is_cut_where_it_was_to_end(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer, kind: str
) -> None:
    async with application(
        sqlite_url, tmp_path, provider.address, kind=kind, model="fault:endless", response_tokens=100
    ) as play:
        await play.say(QUESTION)
        run = await play.ended()
        assert (run.status, run.debug["finish_reason"]) == ("succeeded", "length")
        assert 100 < len(run.text) <= 4096
        assert [role for role, _ in await play.messages()] == ["user", "assistant"]
        await play.until_left()


async def test_a_reply_that_takes_for_ever_is_given_up(
    sqlite_url: str, tmp_path: Path, provider: ProviderServer
) -> None:
    timeouts = TimeoutsIn(first_byte=60, between_chunks=60, whole=1)
    provider.begin_anew(delay=0.05)
    async with application(sqlite_url, tmp_path, provider.address, model="fault:endless", timeouts=timeouts) as play:
        await play.say(QUESTION)
        failed = await play.ended()
        it_says(failed, "timeout", "did not finish the reply within 1 seconds. Request a shorter reply")
        await play.until_left()
        assert len(provider.bodies) == 1
