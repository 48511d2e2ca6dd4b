"""`tavernkit explain`: where every character of a request comes from."""

import json
from pathlib import Path

import pytest

from tests.characters import card_files
from tests.cli.running import run


@pytest.mark.parametrize("options", [(), ("--platform", "risuai"), ("--type", "impersonate")])
def test_the_example_is_explained_as_it_is_built(options: tuple[str, ...]) -> None:
    explained = run("explain", *options, "--json")
    assert explained.code == 0
    assert next(iter(explained.document)) == "messages"
    built = run("build", *options, "--dialect", "openai", "--json").document["payload"]
    messages = explained.document["messages"]
    assert [(message["role"], message["content"]) for message in messages] == [
        (message["role"], message["content"]) for message in built
    ]
    for message in messages:
        assert "".join(span["text"] for span in message["spans"]) == message["content"]
        assert all(span["source"]["kind"] != "block" for span in message["spans"])


def test_a_text_completion_is_one_message(tmp_path: Path) -> None:
    preset = tmp_path / "preset.json"
    preset.write_text(json.dumps({"temp": 0.8, "rep_pen": 1.1, "genamt": 100, "max_length": 2000}))
    (message,) = run("explain", "--preset", preset, "--json").document["messages"]
    assert message["role"] == "prompt"
    assert message["content"] == run("build", "--preset", preset, "--json").document["payload"]
    assert "".join(span["text"] for span in message["spans"]) == message["content"]


def test_people_are_told_in_words() -> None:
    shown = run("explain", "--message", "Is the ledger here?").text
    assert "{{user}} in persona of Robin" in shown
    assert "lore: The ledger of Line Nine (“ledger” in message" in shown
    assert "100.0% of" in shown


def test_the_report_is_one_file_that_needs_nothing_else_and_runs_nothing(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    evil = '<script>alert("1")</script><img src=x onerror=alert(1)>'
    card.write_text(
        json.dumps({"spec": "chara_card_v2", "data": {"name": f'"{evil}', "description": f"{evil} mends."}})
    )
    report = tmp_path / "report.html"
    done = run("explain", card, "--html", report)
    assert (done.code, done.text) == (0, "")
    written = report.read_text()
    assert "<script" not in written
    assert "<img" not in written
    assert "http:" not in written
    assert "https:" not in written
    assert 'class="card"' in written
    assert "&lt;script&gt;" in written


def test_a_report_is_not_overwritten_unasked(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("mine")
    assert run("explain", "--html", report).code == 2
    assert report.read_text() == "mine"
    both = run("explain", "--html", report, "--force", "--json")
    assert both.code == 0
    assert both.document["messages"]
    assert "Where this prompt comes from" in report.read_text()


def test_it_takes_the_options_of_build(tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    card.write_text(json.dumps(card_files.v2()))
    assert run("explain", "--card", card, "--user", "Robin", "--message", "Hello", "--context", "4000").code == 0
    refused = run("explain", "--platform", "risuai", "--instruct", card)
    assert refused.code == 2
