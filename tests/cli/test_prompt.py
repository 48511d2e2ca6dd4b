import json
from pathlib import Path
from typing import Any

import pytest

from tavernkit import dialects, example
from tests.characters import card_files
from tests.cli.running import run


def test_the_example_story_needs_no_files() -> None:
    result = run("prompt", "--message", "Who is Mr Abel?")
    assert result.code == 0
    assert "[system] character: main, " in result.text
    assert "Who is Mr Abel?" in result.text
    assert "tokens" in result.text.splitlines()[-2]


def test_json_has_the_payload_and_a_report() -> None:
    document = run("prompt", "--message", "Who is Mr Abel?", "--json").document
    report = document["report"]
    sent = [block for block in report["blocks"] if block["sent"]]
    assert len(document["payload"]) == len(sent)
    assert document["payload"][-1]["content"].endswith("Who is Mr Abel?")
    assert all(block["source"]["stage"] and block["source"]["id"] for block in sent)
    assert report["block_tokens"] == sum(block["tokens"] for block in sent)
    assert report["tokens"] == report["trimming"]["final_tokens"] <= report["budget"] == 8192 - 1024
    assert report["trace"] is None


def test_the_same_inputs_give_the_same_fingerprint() -> None:
    first, second = (run("prompt", "--json").document["report"]["fingerprint"] for _ in range(2))
    assert first == second
    assert run("prompt", "--json", "--user", "Sam").document["report"]["fingerprint"] != first


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_dialect_has_a_payload(dialect: str) -> None:
    document = run("prompt", "--dialect", dialect, "--message", "Hello?", "--json").document
    assert document["payload"]
    assert document["report"]["dialect"] == dialect


def test_an_unknown_dialect_is_an_error() -> None:
    result = run("prompt", "--dialect", "klingon", "--json")
    assert result.code == 2
    assert result.error["type"] == "UnknownDialectError"
    assert "anthropic" in result.error["message"]


def contents(document: Any) -> str:
    return "\n".join(message["content"] for message in document["payload"])


def test_a_card_a_user_and_a_persona(card_png: Path) -> None:
    document = run("prompt", card_png, "--user", "Sam", "--persona", "{{user}} is late.", "--json").document
    assert "Mends clocks." in contents(document)
    assert "Sam is late." in contents(document)
    assert document["report"]["greeting"] == "Tick."


def test_the_greeting_is_shown_before_the_chat_begins(card_png: Path) -> None:
    assert "The chat is empty. Greeting:\nTick.\n" in run("prompt", card_png).text


def test_the_example_user_can_be_renamed() -> None:
    document = run("prompt", "--user", "Sam", "--json").document
    assert "Sam is thirty-four" in contents(document)
    assert example.user().name not in contents(document)


@pytest.mark.parametrize("wrap", [lambda messages: messages, lambda messages: {"messages": messages}])
def test_a_history_from_a_file(card_json: Path, tmp_path: Path, wrap: Any) -> None:
    path = tmp_path / "history.json"
    messages = [{"role": "assistant", "content": "Tick."}, {"role": "user", "content": "What gear?", "extra": [1]}]
    path.write_text(json.dumps(wrap(messages)))
    document = run("prompt", card_json, "--history", path, "--json").document
    assert [message["role"] for message in document["payload"][-2:]] == ["assistant", "user"]
    assert "Brass." in contents(document)
    assert document["report"]["greeting"] is None


@pytest.mark.parametrize(
    ("history", "place"),
    [
        ('{"messages": 1}', "list of messages"),
        ("[1]", "Message 1"),
        ('[{"role": "user"}, {"content": "x"}]', "Message 2"),
        ('[{"role": "user", "content": [1]}]', "Message 1"),
        ("[", "not valid JSON"),
    ],
)
def test_a_history_that_cannot_be_read_says_where(tmp_path: Path, history: str, place: str) -> None:
    path = tmp_path / "history.json"
    path.write_text(history)
    result = run("prompt", "--history", path)
    assert result.code == 2
    assert result.stderr.startswith(f"tavernkit: {path}: ")
    assert place in result.stderr


def test_lorebooks_beside_the_cards_own(card_json: Path, tmp_path: Path) -> None:
    books = []
    for name in ("north", "south"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"entries": {"0": {"uid": 0, "key": [name], "content": f"The {name} gate."}}}))
        books += ["--lore", str(path)]
    document = run("prompt", card_json, *books, "--message", "North or south?", "--json").document
    assert "The north gate." in contents(document)
    assert "The south gate." in contents(document)


def test_what_does_not_fit_is_listed() -> None:
    arguments = ["prompt", "--context", "700", "--reserve", "0"]
    report = run(*arguments, "--json").document["report"]
    left_out = [block for block in report["blocks"] if not block["sent"]]
    assert left_out
    assert len(report["trimming"]["evictions"]) == len(left_out)
    assert [warning["code"] for warning in report["warnings"]] == ["trimmed"]
    text = run(*arguments).text
    assert "Trimmed:" in text
    assert "warning: " in text


def test_a_strict_prompt_fails_where_there_would_be_a_warning() -> None:
    result = run("prompt", "--context", "700", "--reserve", "0", "--strict", "--json")
    assert result.code == 1
    assert result.stdout == b""
    assert result.error["type"] == "TokenBudgetExceeded"


def test_a_window_that_cannot_hold_the_character_is_a_failure() -> None:
    result = run("prompt", "--context", "10", "--reserve", "0")
    assert result.code == 1
    assert result.stderr.startswith("tavernkit: Token budget exceeded")


def test_a_trace_names_every_stage() -> None:
    trace = run("prompt", "--trace", "--json").document["report"]["trace"]
    assert [stage["name"] for stage in trace["stages"]][:3] == ["hooks", "lore", "character"]
    assert "trimming" in run("prompt", "--trace").text


def test_a_model_changes_the_count() -> None:
    counts = {
        run("prompt", "--model", model, "--json").document["report"]["tokens"]
        for model in ("gpt-4o", "text-davinci-001")
    }
    assert len(counts) == 2


def test_a_hostile_card_cannot_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card_files.v3(description="\x1b[2Jcleared\x9b31m", name="[bold]Y")))
    text = run("prompt", path).text
    assert "\x1b" not in text
    assert "\x9b" not in text
