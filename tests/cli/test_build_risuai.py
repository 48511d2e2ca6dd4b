"""`tavernkit build --platform risuai`: files of RisuAI in, the request it would send out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.characters import card_files
from tests.cli.running import run

Write = Callable[..., Path]

NIGHT = "{{#if {{? {{getglobalvar::toggle_night}} == 1}}}} It is night.{{/if}}"
PRESET = {
    "name": "Short",
    "aiModel": "gpt4o",
    "maxContext": 4000,
    "maxResponse": 200,
    "promptTemplate": [
        {"type": "plain", "type2": "main", "text": "You are {{char}}." + NIGHT, "role": "system"},
        {"type": "lorebook"},
        {"type": "chat", "rangeStart": 0, "rangeEnd": "end"},
        {"type": "authornote"},
    ],
}
TIDE = {"key": "", "comment": "tide", "content": "The tide is out.", "mode": "normal", "alwaysActive": True}
MODULE = {"type": "risuModule", "module": {"name": "Tides", "id": "tides", "lorebook": [TIDE]}}
SILLYTAVERN = {
    "chat_completion_source": "openai",
    "prompts": [{"identifier": "main", "content": "Write as {{char}}."}, {"identifier": "chatHistory"}],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": "main", "enabled": True}, {"identifier": "chatHistory", "enabled": True}],
        }
    ],
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, document: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return write_file


@pytest.fixture
def card(write: Write) -> Path:
    return write("ysolde.json", card_files.v3(first_mes="Hello, {{user}}.", mes_example="", description="A keeper."))


def build(*arguments: str | Path) -> Any:
    result = run("build", "--platform", "risuai", *arguments, "--json")
    assert result.code == 0, result.stderr
    return result.document


def said(document: Any) -> list[str]:
    return [message["content"] for message in document["payload"]]


def test_without_anything_the_example_is_built() -> None:
    document = build("--message", "Who is Mr Abel?")
    assert document["dialect"] == "openai"
    assert document["payload"][-1]["role"] == "system"
    assert "Who is Mr Abel?" in said(document)


def test_a_card_and_a_preset_make_a_request(card: Path, write: Write) -> None:
    document = build(
        card, "--preset", write("p.json", PRESET), "--user", "Sam", "--note", "Be brief.", "--message", "Hi"
    )
    assert said(document)[0].startswith("You are ")
    assert said(document)[-3:] == ["Hello, Sam.", "Hi", "Be brief."]
    assert document["options"] == {"max_tokens": 200}


def test_switches_modules_and_lorebooks_join_in(card: Path, write: Write) -> None:
    lore = write("lore.json", {"entries": {"0": {"uid": 0, "key": [], "constant": True, "content": "Gulls cry."}}})
    document = build(
        card, "--preset", write("p.json", PRESET), "--module", write("m.json", MODULE), "--lore", lore,
        "--toggle", "night",
    )  # fmt: skip
    assert "It is night." in said(document)[0]
    assert "The tide is out." in said(document)[0]
    assert "Gulls cry." in said(document)[0]


def test_a_preset_of_sillytavern_becomes_a_template(card: Path, write: Write) -> None:
    document = build(card, "--preset", write("st.json", SILLYTAVERN))
    assert said(document)[0].startswith("Write as ")
    assert len(said(document)) == 2


def test_a_chat_that_begins_with_the_character_needs_no_greeting(card: Path, write: Write) -> None:
    chat = write("chat.json", [{"role": "assistant", "content": "Once."}, {"role": "user", "content": "Yes?"}])
    assert said(build(card, "--history", chat))[-2:] == ["Once.", "Yes?"]
    assert said(build(card, "--history", chat, "--greeting", "0"))[-3] == "Hello, User."


def test_explaining_names_the_cards_that_are_not_sent(card: Path, write: Write) -> None:
    text = run("build", "--platform", "risuai", card, "--preset", write("p.json", PRESET), "--explain").text
    assert "Enabled prompts that are not sent:" in text
    assert "the chat has no note" in text


def test_explaining_says_what_was_left_out_and_why(card: Path, write: Write) -> None:
    lines = [
        {"role": ("ua"[n % 2] == "u" and "user") or "assistant", "content": f"m{n} " + "word " * 40} for n in range(12)
    ]
    chat = write("chat.json", lines)
    result = run(
        "build", "--platform", "risuai", card, "--history", chat, "--context", "600", "--reserve", "200", "--explain"
    )
    assert result.code == 0
    assert "does not fit; the oldest messages are trimmed first" in result.text
    assert "not used by the model's format" in run("build", "--platform", "risuai", card, "--explain").text


def test_the_model_chooses_the_dialect(card: Path, write: Write) -> None:
    document = build(card, "--preset", write("p.json", {**PRESET, "aiModel": "claude-3-opus"}), "--message", "Hi")
    assert document["dialect"] == "anthropic"
    assert document["payload"]["messages"][-1]["content"][-1]["text"].endswith("Hi")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--platform", "risuai", "--instruct", "x.json"], "--instruct is an option of SillyTavern only"),
        (["--platform", "risuai", "--quiet-prompt", "x"], "--quiet-prompt is an option of SillyTavern only"),
        (["--toggle", "night"], "--toggle is an option of RisuAI only"),
        (["--greeting", "1"], "--greeting is an option of RisuAI only"),
    ],
)
def test_options_of_the_other_platform_are_refused(arguments: list[str], complaint: str) -> None:
    result = run("build", *arguments)
    assert result.code == 2
    assert complaint in result.stderr


def test_one_card_and_one_preset(card: Path, write: Write) -> None:
    preset = write("p.json", PRESET)
    for doubled in ([card, card], [card, "--preset", preset, "--preset", preset]):
        result = run("build", "--platform", "risuai", *doubled)
        assert result.code == 2
        assert "one" in result.stderr


def test_a_file_that_is_no_preset_is_named(card: Path, write: Write) -> None:
    result = run("build", "--platform", "risuai", card, "--preset", write("odd.json", {"colour": "red"}))
    assert result.code == 2
    assert "odd.json" in result.stderr


def test_a_strict_build_fails_its_check(card: Path, write: Write) -> None:
    broken = {
        **PRESET,
        "promptTemplate": [{"type": "plain", "type2": "main", "text": "{{#if 1}}open", "role": "system"}],
    }
    result = run("build", "--platform", "risuai", card, "--preset", write("p.json", broken), "--strict")
    assert result.code == 1


def test_a_card_may_stand_without_its_option_for_sillytavern_too(card: Path) -> None:
    assert (
        run("build", card, "--message", "Hi", "--json").document["payload"]
        == (run("build", "--card", card, "--message", "Hi", "--json").document["payload"])
    )
