import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.chats.chat_files import HEADER, NOW, lines, message
from tests.cli.running import run

CHAT = lines(
    HEADER,
    message("Hello.", swipes=["Hello.", "Hm?", "Ah."], swipe_id=0),
    message("Hi.", name="Sam", is_user=True),
    message("(aside)", is_system=True),
    "garbage",
)
CAI = {"histories": {"histories": [{"msgs": [{"src": {"is_human": True}, "text": text}]} for text in ("One", "Two")]}}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text(CHAT)
    return path


@pytest.fixture
def cai(tmp_path: Path) -> Path:
    path = tmp_path / "cai.json"
    path.write_text(json.dumps(CAI))
    return path


def test_json_counts_everything(chat: Path) -> None:
    result = run("chat", "show", chat, "--json")
    assert result.code == 0
    assert (result.document["file"], result.document["format"]) == (str(chat), "sillytavern")
    (summary,) = result.document["chats"]
    assert summary == {
        "is_group": False,
        "messages": 3,
        "hidden": 1,
        "swipes": 2,
        "damaged_lines": 1,
        "first_date": NOW,
        "last_date": NOW,
        "metadata": ["variables"],
        "speakers": [
            {"name": "Mira", "is_user": False, "messages": 2, "characters": 13},
            {"name": "Sam", "is_user": True, "messages": 1, "characters": 3},
        ],
    }
    assert [note["path"] for note in result.document["notes"]] == ["line 5"]


def test_people_get_a_summary(chat: Path) -> None:
    result = run("chat", "show", chat)
    assert result.code == 0
    assert "sillytavern, 3 messages, 1 hidden, 2 further swipes, 1 damaged lines" in result.text
    assert "Sam" in result.text
    assert "line 5" in result.text


def test_a_chat_of_sillytavern_comes_back_as_it_was(chat: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run("chat", "convert", chat, "--output", out, "--json")
    assert result.code == 0
    assert (result.document["outputs"], result.document["messages"]) == ([str(out)], [3])
    assert out.read_text() == CHAT


def test_plain_text_goes_to_standard_output(chat: Path) -> None:
    result = run("chat", "convert", "-", "--to", "text", stdin=chat.read_bytes())
    assert result.text == "Mira: Hello.\n\nSam: Hi.\n\n"


@pytest.mark.parametrize(
    ("to", "part"),
    [
        ("risuai", '{"type":"risuChat","ver":2,"data":{"message":[{"role":"char","data":"Hello.","name":"Mira"'),
        ("markdown", "# chat\n\n### Mira\n\nHello.\n\n### Sam <!-- user -->\n\nHi.\n\n"),
        ("html", "<title>chat</title>"),
    ],
)
def test_a_chat_is_converted_for_other_applications_and_for_reading(chat: Path, to: str, part: str) -> None:
    assert part in run("chat", "convert", chat, "--to", to).text


def test_a_chat_is_converted_to_a_book_with_chapters(chat: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat.epub"
    options = ("--chapters", "messages", "--messages-per-chapter", "1")
    assert run("chat", "convert", chat, "--to", "epub", *options, "--output", out).code == 0
    with ZipFile(out) as book:
        assert book.read("mimetype") == b"application/epub+zip"
        assert b"Chapter 2" in book.read("OEBPS/text/nav.xhtml")
        assert b"Hi." in book.read("OEBPS/text/part-2.xhtml")


def test_plain_text_is_converted_back(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("Mira: Hello.\n\nSam: Hi.\n")
    _, first, second = run("chat", "convert", path, "--user", "Sam").text.splitlines()
    assert json.loads(first)["mes"] == "Hello."
    assert json.loads(second)["is_user"]


def test_half_a_surrogate_pair_does_not_stop_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    path.write_text(lines(HEADER, '{"name":"Mira","mes":"a\\ud83d"}'))
    assert run("chat", "convert", path, "--to", "text").text == "Mira: a?\n\n"
    assert run("chat", "convert", path).text == path.read_text()


def test_names_are_given_where_the_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "webui.json"
    path.write_text(json.dumps({"data_visible": [["Hi", "Hello"]]}))
    result = run("chat", "convert", path, "--to", "text", "--user", "Sam", "--character", "Mira")
    assert result.text == "Sam: Hi\n\nMira: Hello\n\n"
    speakers: Any = run("chat", "show", path, "--json").document["chats"][0]["speakers"]
    assert [speaker["name"] for speaker in speakers] == ["User", "Character"]


def test_several_chats_become_numbered_files(cai: Path, tmp_path: Path) -> None:
    result = run("chat", "convert", cai, "--to", "text", "-o", tmp_path / "out.txt")
    assert result.code == 0
    assert (tmp_path / "out-1.txt").read_text() == "User: One\n\n"
    assert (tmp_path / "out-2.txt").read_text() == "User: Two\n\n"
    assert run("chat", "convert", cai, "-o", tmp_path / "out.txt").code == 2


def test_several_chats_do_not_fit_standard_output(cai: Path) -> None:
    result = run("chat", "convert", cai)
    assert result.code == 2
    assert "contains 2 chats" in result.stderr


def test_nothing_is_overwritten_without_force(chat: Path) -> None:
    assert run("chat", "convert", chat, "--to", "text", "-o", chat).code == 2
    assert chat.read_text() == CHAT
    assert run("chat", "convert", chat, "--to", "text", "-o", chat, "--force").code == 0
    assert chat.read_text() != CHAT


def test_what_is_no_chat_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]")
    result = run("chat", "show", path, "--json")
    assert result.code == 2
    assert result.error["type"] == "ParseError"
