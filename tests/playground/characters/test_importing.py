"""Card files in: every format, each file once, newer cards as new versions, and nothing that a bad file can break."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from tavernkit import characters
from tavernkit.playground.base.database.models import Blob, Character
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.story.characters.cards import embedded_book, stored_card
from tavernkit.playground.story.characters.importing import import_file
from tavernkit.playground.story.characters.queries import assets_of, versions_of
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.files import write_risum
from tavernkit.risuai.module import read_module
from tests.characters import card_files
from tests.playground.characters.builders import brought, json_card, me, picture, png_card, row, somebody_else
from tests.playground.stories import Story, open_story
from tests.playground.support.refusals import refusal_of

pytestmark = pytest.mark.anyio

YAML = b"name: Ysolde\ndescription: Mends clocks.\nfirst_mes: Tick.\n"
ICON = {"type": "icon", "uri": "embeded://assets/icon/main.png", "name": "main", "ext": "png"}


async def count(play: Story) -> int:
    async with play.runtime.database.read() as session:
        return await session.scalar(select(func.count()).select_from(Character)) or 0


FORMATS = {
    "json v3": json_card(),
    "json v2": json.dumps(card_files.v2()).encode(),
    "json v1": json.dumps(card_files.v1()).encode(),
    "yaml": YAML,
    "png": png_card(),
    "webp": picture(format="WEBP", exif=card_files.exif(json.dumps(card_files.v1()).encode())),
    "charx": card_files.charx(card_files.v3(), **{"assets/icon/main.png": picture()}),
    "byaf": card_files.byaf(),
}


async def test_every_format_is_read(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        for format, file in FORMATS.items():
            imported = await brought(play, file, as_new=True)
            assert imported.outcome == "imported", format
            assert imported.character.name.startswith("Ysolde"), format
            assert stored_card(imported.character).character == characters.load(file).card.character, format


async def test_what_risuai_keeps_in_a_module_comes_with_the_card(sqlite_url: str, tmp_path: Path) -> None:
    script = {"comment": "", "in": "a", "out": "b", "type": "editoutput"}
    module = write_risum(read_module(LooseObject({"name": "SidePanel", "regex": [script]}, ReportBuilder())))
    own = card_files.v3(extensions={"risuai": {"defaultVariables": "mood=calm"}})
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, card_files.charx(own, **{"module.risum": module}))
        kept = stored_card(imported.character).character.extensions["risuai"]
        assert (kept["customScripts"], kept["defaultVariables"]) == ([script], "mood=calm")
        damaged = await brought(play, card_files.charx(card_files.v3(name="Bo"), **{"module.risum": b"o\0\xff"}))
        assert any("module.risum" in note for note in damaged.notes)
        assert damaged.character.name == "Bo"


async def test_the_columns_say_what_the_card_says(database_url: str, tmp_path: Path) -> None:
    file = json_card(
        name="  Zoë\x00 \ud800 ", nickname="Z", tags=["Cozy", "", "Зима"], creator_notes_multilingual={"de": "Hallo"}
    )
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        stored = await row(play, (await brought(play, file)).character.id)
        assert (stored.name, stored.nickname, stored.tags) == ("Zoë �", "Z", ["Cozy", "Зима"])
        assert (stored.spec_version, stored.version, stored.supported_languages) == (3, 1, ["de"])
        assert stored.data["data"]["name"] == "  Zoë\x00 \ud800 "
        book = embedded_book(stored)
        assert book is not None
        assert [entry.content for entry in book.entries] == ["Brass."]


async def test_a_file_is_there_once_for_each_person(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        before = await count(play)
        first = await brought(play, png_card())
        again = await brought(play, png_card())
        assert (again.outcome, again.character.id) == ("same", first.character.id)
        assert "already imported as Ysolde" in again.sentence
        theirs = await import_file(play.runtime, await somebody_else(play), png_card())
        assert theirs.outcome == "imported"
        copy = await brought(play, png_card(), as_new=True)
        assert copy.outcome == "imported"
        assert await count(play) == before + 3


async def test_ten_at_once_import_one_file_once(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        before = await count(play)
        results = await asyncio.gather(*(brought(play, png_card()) for _ in range(10)))
        assert sorted(result.outcome for result in results) == ["imported"] + ["same"] * 9
        assert await count(play) == before + 1


async def test_a_changed_card_becomes_a_version_and_says_what_changed(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await brought(play, png_card(description="Mends clocks."))
        changed = png_card(colour="red", description="Breaks clocks.", extensions={})
        second = await brought(play, changed, same_name="version")
        assert (second.outcome, second.character.id, second.character.version) == ("updated", first.character.id, 2)
        changes = {change.field: change for change in second.changes}
        assert set(changes) == {"description", "extensions", "picture"}
        assert (changes["description"].before, changes["description"].after) == ("Mends clocks.", "Breaks clocks.")
        async with play.runtime.database.read() as session:
            versions = await versions_of(session, first.character.id, before=None, limit=10)
            assert [(version.number, version.reason) for version in versions] == [(1, "imported")]
            pictures = (await session.scalars(select(Blob.sha256))).all()
        assert set(pictures) == {second.character.avatar_sha256, second.character.thumbnail_sha256}
        older = await brought(play, png_card(description="Mends clocks."))
        assert (older.outcome, older.character.version) == ("same", 2)
        assert "is version 1 of Ysolde" in older.sentence


async def test_plain_json_changes_the_card_and_leaves_the_picture(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await brought(play, png_card())
        avatar = first.character.avatar_sha256
        same = await brought(play, json_card())
        assert (same.outcome, same.character.version) == ("same", 1)
        second = await brought(play, json_card(scenario="A mill."), same_name="version")
        assert (second.outcome, second.character.avatar_sha256) == ("updated", avatar)


async def test_a_shared_name_alone_is_not_the_same_character(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        await brought(play, json_card(creator="me"))
        other = await brought(play, json_card(creator="you"))
        assert other.outcome == "imported"
        nobody = await brought(play, json_card(creator=""))
        assert nobody.outcome == "imported"
        stranger = await brought(play, json_card(creator="", description="A knight.", first_mes="Halt."))
        assert stranger.outcome == "imported"
        newer = await brought(play, json_card(creator="", description="A tailor."), same_name="version")
        assert (newer.outcome, newer.character.id) == ("updated", nobody.character.id)


async def test_different_cards_of_one_name_and_creator_are_different_characters(
    database_url: str, tmp_path: Path
) -> None:
    cards = [json_card(description=f"Card {number}.", first_mes=f"Hello {number}.") for number in range(8)]
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        imported = [await brought(play, card) for card in cards]
        assert [one.outcome for one in imported] == ["imported"] * 8
        assert len({one.character.id for one in imported}) == 8
        assert "as a new character" in imported[1].sentence
        again = [await brought(play, cards[5] + ending) for ending in (b"", b"\n")]
        assert [(one.outcome, one.character.id) for one in again] == [("same", imported[5].character.id)] * 2
        skipped = await brought(play, json_card(description="Card 9.", first_mes="Hello 5."), same_name="skip")
        assert (skipped.outcome, skipped.character.id) == ("skipped", imported[5].character.id)


async def test_another_character_version_alone_makes_no_version(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await brought(play, json_card(character_version="1.0"))
        other = await brought(play, json_card(character_version="1.1", first_mes="Tock.", description="Newer."))
        assert (other.outcome, other.namesake and other.namesake.id) == ("imported", first.character.id)
        assert (await row(play, first.character.id)).version == 1
        chosen = json_card(character_version="1.2", first_mes="Tock.", description="Newest.")
        newer = await brought(play, chosen, same_name="version")
        assert (newer.outcome, newer.character.id) == ("updated", other.character.id)


async def test_a_person_may_say_which_character_a_file_is(database_url: str, tmp_path: Path) -> None:
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        first = await brought(play, json_card())
        renamed = await brought(play, json_card(name="Isolde", creator="x"), character_id=first.character.id)
        assert (renamed.outcome, renamed.character.id, renamed.character.name) == (
            "updated", first.character.id, "Isolde",
        )  # fmt: skip
        refused = await refusal_of(import_file(play.runtime, me(play), json_card(), character_id=uuid4()))
        assert refused.code == "not_found"


async def test_assets_are_kept_under_the_names_of_the_card(database_url: str, tmp_path: Path) -> None:
    smile = {"type": "emotion", "uri": "embeded://assets/smile.png", "name": "smile", "ext": "png"}
    file = card_files.charx(
        card_files.v3(assets=[ICON, smile]),
        **{"assets/icon/main.png": picture(), "assets/smile.png": picture("red"), "notes.txt": b"hello"},
    )
    async with open_story(database_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, file)
        async with play.runtime.database.read() as session:
            assets = await assets_of(session, imported.character.id)
            types = {blob.sha256: blob.media_type for blob in await session.scalars(select(Blob))}
        assert [(asset.kind, asset.name, asset.ext, types[asset.sha256]) for asset in assets] == [
            ("emotion", "smile", "png", "image/png"),
            ("icon", "main", "png", "image/png"),
            ("other", "notes.txt", "txt", "application/octet-stream"),
        ]


NO_CARDS = {
    "empty": (b"", ""),
    "text": (b"hello", ""),
    "nested": (b"{" * 100_000, ""),
    "lorebook": (b'{"entries": {}}', "lorebook"),
    "plain picture": (picture(), "no character card"),
    "broken archive": (b"PK\x03\x04" + b"\0" * 100, ""),
    "archive bomb": (card_files.archive({"card.json": b" " * 10_000_000}), ""),
    "archive without a card": (card_files.archive({"../card.json": b"{}"}), ""),
    "broken JPEG": (b"\xff\xd8\xff" + b"\0" * 50, ""),
}


async def test_what_is_no_card_is_refused_in_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        before = await count(play)
        for kind, (file, words) in NO_CARDS.items():
            refused = await refusal_of(import_file(play.runtime, me(play), file))
            assert refused.code == "invalid", kind
            assert words in refused.sentence, kind
            assert refused.sentence.endswith((".", ")")), kind
        assert await count(play) == before


async def test_a_card_in_a_broken_picture_comes_without_it(sqlite_url: str, tmp_path: Path) -> None:
    pixels = card_files.chunk(b"IDAT", b"no pixels")
    card = card_files.text("chara", card_files.packed(card_files.v2()))
    broken = card_files.SIGNATURE + card_files.HEADER + card + pixels + card_files.END
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, broken)
        assert (imported.outcome, imported.character.avatar_sha256) == ("imported", None)
        assert any("picture cannot be read" in note for note in imported.notes)


async def test_a_damaged_asset_is_left_out_and_noted(sqlite_url: str, tmp_path: Path) -> None:
    damaged = card_files.text("chara-ext-asset_:0", b"abc")
    async with open_story(sqlite_url, tmp_path, ScriptedModel()) as play:
        imported = await brought(play, png_card(damaged))
        assert any("0: skipped" in note for note in imported.notes)
        async with play.runtime.database.read() as session:
            assert await assets_of(session, imported.character.id) == []
