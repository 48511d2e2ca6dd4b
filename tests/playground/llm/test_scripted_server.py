"""The scripted server as another program sees it."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tavernkit.playground.base.llm.base import TextDelta
from tavernkit.playground.base.llm.kinds.openai import OpenAIClient
from tavernkit.playground.base.llm.scripted import canned_reply, split_words
from tavernkit.playground.base.llm.scripted_acts import FAULTS, MODELS, Act, follow_directives
from tavernkit.playground.base.llm.scripted_server import scripted_app
from tests.cli.running import run
from tests.playground.llm.asking import ask, question
from tests.playground.llm.serving import serve
from tests.support.hanging import HANG_SECONDS, wait_until

pytestmark = pytest.mark.anyio


def act(message: str) -> Act:
    return follow_directives({"messages": [{"role": "user", "content": message}]})


QUOTING = Act(words=tuple(split_words(canned_reply("[[say: Yes]]"))))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("[[say: Hello [there]!]]", Act(words=("Hello", " [there]!"))),
        ("Please [[slow: 3]]", Act(words=("word1", " word2", " word3"))),
        ("[[slow: x]]", act("[[slow: 200]]")),
        ("[[empty]]", Act()),
        ("[[hang]]", Act(ending="hang")),
        ("[[say: One moment]] [[hang]]", Act(words=("One", " moment"), ending="hang")),
        ("[[say: a b c d]] [[close]]", Act(words=("a", " b"), ending="close")),
        ("[[think: Hm]] [[say: Yes]]", Act(words=("Yes",), thoughts=("Hm",))),
        ("[[say: a b]] [[hold: lamp 0 1]]", Act(words=("a", " b"), gate="lamp", holds=(0, 1))),
        ("[[say: a b]] [[hold]]", Act(words=("a", " b"))),
        ("[[error: 503]]", Act(error=503)),
        ("[[error]]", Act(error=500)),
        ("[[error: 42]]", Act(error=400)),
    ],
)
def test_directives(message: str, expected: Act) -> None:
    assert act(message) == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("fault:429", Act(error=429, retry_after=1)),
        ("fault:429:60", Act(error=429, retry_after=60)),
        ("fault:503", Act(error=503)),
        ("fault:503:2", Act(error=503, retry_after=2)),
        ("fault:7", Act(error=400)),
        ("fault:empty", Act()),
        ("fault:html", Act(page=True)),
        ("fault:first", Act(error=500, times=1, then=QUOTING)),
        ("fault:first:2:429:0", Act(error=429, retry_after=0, times=2, then=QUOTING)),
        ("fault:first:x:empty", Act(times=1, then=QUOTING)),
        ("fault:", Act(error=404)),
        ("fault:nonsense", Act(error=404)),
        ("other", Act(words=("Yes",))),
    ],
)
def test_the_name_of_the_model_steers_before_the_message(model: str, expected: Act) -> None:
    assert follow_directives({"model": model, "messages": [{"role": "user", "content": "[[say: Yes]]"}]}) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "[[say: Yes]]"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "[[say: Yes]]"}]}]},
        {"prompt": "System: Be brief.\nuser: [[say: Yes]]\nassistant:"},
        {"prompt": "[[say: Yes]]"},
    ],
)
def test_the_last_message_is_found_in_every_shape(body: dict[str, object]) -> None:
    assert follow_directives(body) == Act(words=("Yes",))


def test_every_fault_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
    assert [name for name in FAULTS if f"| `fault:{name}` |" not in page] == []


def test_a_model_that_thinks_thinks() -> None:
    assert follow_directives({"model": "scripted-thinking"}).thoughts


def test_without_directives_the_message_is_quoted() -> None:
    assert "".join(act("Is there tea?").words) == canned_reply("Is there tea?")
    assert "".join(follow_directives({"messages": []}).words) == canned_reply("")


def test_only_the_last_user_message_steers() -> None:
    messages = [{"role": "user", "content": "[[error: 500]]"}, {"role": "user", "content": "[[say: Fine]]"}]
    assert follow_directives({"messages": [*messages, {"role": "assistant", "content": "[[hang]]"}]}) == Act(
        words=("Fine",)
    )


async def test_a_server_recovers_once_it_has_failed_as_often_as_it_was_to() -> None:
    with serve(scripted_app(delay=0)) as address:
        client = OpenAIClient(f"{address}/v1")
        asked = question("?", model="fault:first:2:empty")
        replies = [(await ask(client, asked))[0] for _ in range(3)]
        await client.aclose()
    assert replies == ["", "", canned_reply("?")]


@pytest.mark.parametrize("holds", ["0", "1 2"], ids=["before the first word", "behind each word"])
async def test_a_held_reply_goes_on_each_time_that_its_gate_is_opened(holds: str) -> None:
    with serve(scripted_app(delay=0)) as address:
        client = OpenAIClient(f"{address}/v1")
        reply = client.stream(question(f"[[say: Good evening]] [[hold: lamp {holds}]]"))
        said: list[str] = []
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            for words in holds.split():
                while len(said) < int(words):
                    event = await anext(reply)
                    assert isinstance(event, TextDelta)
                    said.append(event.text)
                assert (await http.post("/_gates/lamp")).status_code == 204
            assert (await http.post("/_gates/lamp?times=often")).status_code == 400
        said += [event.text async for event in reply if isinstance(event, TextDelta)]
        await client.aclose()
    assert said == ["Good", " evening"]


async def test_a_script_of_ones_own() -> None:
    with serve(scripted_app(lambda body: Act(words=(body["model"],), ending="length"), delay=0)) as address:
        client = OpenAIClient(f"{address}/v1")
        text, end = await ask(client, question("?"))
        await client.aclose()
    assert (text, end.reason) == ("scripted", "length")


def test_it_is_a_command() -> None:
    command = [sys.executable, "-m", "tavernkit", "scripted-provider", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        lines = "".join(iter(program.stdout.readline, "}\n")) + "}"
        addresses = json.loads(lines)["base_urls"]
        with httpx2.Client(trust_env=False) as http:
            assert len(http.get(f"{addresses['google']}/models").json()["models"]) == len(MODELS) + 1
            assert len(http.get(f"{addresses['anthropic']}/models").json()["data"]) == len(MODELS)
        program.send_signal(signal.SIGTERM)


def test_a_port_that_is_taken_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("scripted-provider", "--port", str(taken.getsockname()[1]))
    assert (result.code, "cannot be used" in result.stderr) == (2, True)


def test_it_runs_as_a_program_and_tells_what_it_was_asked() -> None:
    command = [sys.executable, "-m", "tavernkit.cli", "scripted-provider", "--port", "0", "--delay", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        root = re.findall(r"http://[\d.:]+", program.stdout.readline())[0]
        base_url = f"{root}/v1"
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "[[hang]]"}]}
        with httpx2.Client(trust_env=False) as http:
            assert [model["id"] for model in http.get(f"{base_url}/models").json()["data"]] == list(MODELS)
            with http.stream("POST", f"{base_url}/chat/completions", json=body) as response:
                assert response.headers["content-type"] == "text/event-stream"
                assert http.get(f"{root}/_closed").json() == 0
            wait_until(lambda: bool(http.get(f"{root}/_closed").json() == 1))
            assert http.get(f"{root}/_requests").json() == [body]
            with http.stream("POST", f"{base_url}/chat/completions", json=body):
                program.send_signal(signal.SIGTERM)
                program.wait(HANG_SECONDS)
