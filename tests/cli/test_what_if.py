"""`tavernkit what-if`: the last turns of a conversation, or of a chat file, with something changed."""

import asyncio
import json
from pathlib import Path
from uuid import UUID

import pytest

from tests.cli.running import run
from tests.playground.prompting.prompt_story import prompt_story
from tests.playground.replaying.told import CARD, ENTRIES, TALK, tell, world


async def _told(url: str, folder: Path) -> UUID:
    async with prompt_story(url, folder, "Hm.", cards={"Ada": CARD}) as story:
        await tell(story)
        return story.conversation_id


def test_the_last_turns_of_a_conversation_are_compared(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = str(asyncio.run(_told(sqlite_url, tmp_path)))
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", sqlite_url)
    book, card, html = tmp_path / "Coast.json", tmp_path / "card.json", tmp_path / "report.html"
    book.write_text(json.dumps({"entries": world({**ENTRIES[0], "key": ["night"]})["entries"]}))
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Z", **CARD}}))

    deeper = run("what-if", id, "--set", "world_info.depth=3", "--json")
    assert (deeper.code, len(deeper.document["turns"]), deeper.document["lost"]) == (0, 5, 0)
    assert deeper.document["gained"] > 0
    other = run("what-if", id, "--last", "1", "--lorebook", book, "--card", card, "--html", html)
    assert (other.code, other.stderr) == (0, "")
    assert "Harbour" in html.read_text()
    assert html.read_text().count("<rect") == 2
    off = run("what-if", id, "--off", "entry:Coast/0", "--off", "field:description", "--last", "5")
    assert "5 of 5 prompts change." in off.text

    for wrong, words in (
        (("--set", "depth=3"), "group.name=value"),
        (("--set", "world_info.scan=3"), "does not exist"),
        (("--off", "everything"), "--off takes"),
        (("--base-card", card), "for chat files"),
    ):
        refused = run("what-if", id, *wrong)
        assert (refused.code, words in refused.stderr) == (2, True), refused.stderr


def test_a_chat_file_is_played_with_both_variants(tmp_path: Path) -> None:
    chat, card, book = tmp_path / "chat.jsonl", tmp_path / "card.json", tmp_path / "Coast.json"
    lines = [{"user_name": "Robin", "character_name": "Ada"}]
    for text in TALK:
        lines += [{"name": "Robin", "is_user": True, "mes": text}, {"name": "Ada", "is_user": False, "mes": "Hm."}]
    chat.write_text("\n".join(map(json.dumps, lines)))
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ada", **CARD}}))
    book.write_text(json.dumps({"entries": world(*ENTRIES)["entries"]}))
    base = ("--base-card", card, "--base-lore", book)

    same = run("what-if", chat, *base, "--json")
    assert (same.code, same.document["changed"], len(same.document["turns"])) == (0, 0, 5), same.stderr
    deeper = run("what-if", chat, *base, "--set", "world_info.depth=3", "--json")
    assert (deeper.document["lost"], deeper.document["gained"] > 0) == (0, True)
    (tmp_path / "new").mkdir()
    edited = tmp_path / "new" / "Coast.json"
    edited.write_text(json.dumps({"entries": world({**ENTRIES[0], "key": ["night"]})["entries"]}))
    other = run("what-if", chat, *base, "--lorebook", edited, "--last", "2", "--json")
    gained = [[entry["name"] for entry in turn["change"]["gained"]] for turn in other.document["turns"]]
    assert gained == [[], ["Harbour"]]
    wrong = run("what-if", chat, *base, "--set", "llm.seed=1")
    assert (wrong.code, "no setting llm.seed" in wrong.stderr) == (2, True)
