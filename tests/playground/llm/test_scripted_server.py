"""The scripted server as another program sees it."""

import signal
import subprocess
import sys
import time

import httpx2
import pytest

from tavernkit.playground.llm.openai import OpenAIClient
from tavernkit.playground.llm.scripted import canned_reply
from tavernkit.playground.llm.scripted_server import Act, follow_directives, scripted_app
from tests.playground.llm.asking import ask, question
from tests.playground.llm.serving import serve

pytestmark = pytest.mark.anyio


def act(message: str) -> Act:
    return follow_directives({"messages": [{"role": "user", "content": message}]})


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
        ("[[error: 503]]", Act(error=503)),
        ("[[error]]", Act(error=500)),
        ("[[error: 42]]", Act(error=400)),
    ],
)
def test_directives(message: str, expected: Act) -> None:
    assert act(message) == expected


def test_without_directives_the_message_is_quoted() -> None:
    assert "".join(act("Is there tea?").words) == canned_reply("Is there tea?")
    assert "".join(follow_directives({"messages": []}).words) == canned_reply("")


def test_only_the_last_user_message_steers() -> None:
    messages = [{"role": "user", "content": "[[error: 500]]"}, {"role": "user", "content": "[[say: Fine]]"}]
    assert follow_directives({"messages": [*messages, {"role": "assistant", "content": "[[hang]]"}]}) == Act(
        words=("Fine",)
    )


async def test_a_script_of_ones_own() -> None:
    with serve(scripted_app(lambda body: Act(words=(body["model"],), ending="length"), delay=0)) as address:
        client = OpenAIClient(f"{address}/v1")
        text, end = await ask(client, question("?"))
        await client.aclose()
    assert (text, end.reason) == ("scripted", "length")


def test_it_runs_as_a_program_and_tells_what_it_was_asked() -> None:
    command = [sys.executable, "-m", "tavernkit.playground.llm.scripted_server", "--port", "0", "--delay", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        base_url = program.stdout.readline().strip()
        root = base_url.removesuffix("/v1")
        body = {"model": "m", "messages": [{"role": "user", "content": "[[hang]]"}]}
        with httpx2.Client(trust_env=False) as http:
            assert [model["id"] for model in http.get(f"{base_url}/models").json()["data"]] == ["scripted"]
            with http.stream("POST", f"{base_url}/chat/completions", json=body) as response:
                assert response.headers["content-type"] == "text/event-stream"
                assert http.get(f"{root}/_closed").json() == 0
            while http.get(f"{root}/_closed").json() == 0:
                time.sleep(0.01)
            assert http.get(f"{root}/_closed").json() == 1
            assert http.get(f"{root}/_requests").json() == [body]
            with http.stream("POST", f"{base_url}/chat/completions", json=body):
                started = time.monotonic()
                program.send_signal(signal.SIGTERM)
                program.wait()
                assert time.monotonic() - started < 2
