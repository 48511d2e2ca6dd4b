"""Card files of RisuAI: the card, the module beside it, and the assets inside."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from tests.characters.card_files import JPEG, charx, packed, png, text, v2, v3
from tests.risuai.files.builders import LORE, SCRIPT, TRIGGER, module, risum

from tavernkit.characters import Asset, load
from tavernkit.errors import ParseError
from tavernkit.risuai.files import load_character, save_charx, save_png

CHARX = Path(__file__).parents[2] / "characters" / "risuai.charx"
OWN = {"risuai": {"customScripts": [{**SCRIPT, "in": "old"}], "triggerscript": [], "defaultVariables": "a=1"}}


def with_module(source: bytes, card: object = None) -> bytes:
    return charx(card or v3(extensions=OWN), **{"module.risum": source})


def test_a_file_that_risuai_wrote():
    character, bundle = load_character(CHARX, id="cha-1")
    assert (character.name, character.id) == ("Marlow Quill", "cha-1")
    assert [trigger.type for trigger in character.triggers] == ["start"]
    assert [script.pattern for script in character.scripts] == ["a"]
    assert [entry.content for entry in character.lore] == ["body"]
    assert [asset.name for asset in bundle.assets] == ["module.risum"]


class TestModules:
    def test_a_module_takes_the_place_of_what_the_card_says(self):
        character, _ = load_character(with_module(risum(module())))
        assert [script.pattern for script in character.scripts] == ["a"]
        assert [trigger.comment for trigger in character.triggers] == ["t"]
        assert [entry.key for entry in character.lore] == ["tide"]
        assert character.default_variables == "a=1"

    def test_a_module_without_scripts_takes_them_away(self):
        character, _ = load_character(with_module(risum({"name": "M", "id": "m", "description": ""})))
        assert (character.scripts, character.triggers) == ((), ())
        assert [entry.key for entry in character.lore] == ["gear"]

    def test_an_empty_lorebook_of_a_module_counts(self):
        character, _ = load_character(with_module(risum(module(lorebook=[]))))
        assert character.lore == ()

    def test_a_card_behind_a_picture_has_its_module_too(self):
        character, bundle = load_character(JPEG + with_module(risum(module())))
        assert bundle.format == "jpeg"
        assert [trigger.comment for trigger in character.triggers] == ["t"]

    def test_a_damaged_module_is_an_error(self):
        with pytest.raises(ParseError, match="The module is cut off"):
            load_character(with_module(b"o\0\xff\0\0\0"))

    def test_a_module_is_only_looked_for_under_its_name(self):
        character, _ = load_character(charx(v3(extensions=OWN), **{"assets/module.risum": risum(module())}))
        assert [script.pattern for script in character.scripts] == ["old"]


class TestPictures:
    ASSETS = (
        {"type": "emotion", "uri": "__asset:1", "name": "joy", "ext": "png"},
        {"type": "x-risu-asset", "uri": "__asset:2", "name": "lamp", "ext": "gif"},
    )

    def test_assets_in_chunks_are_the_characters(self):
        source = png(
            text("chara-ext-asset_:1", base64.b64encode(b"one")),
            text("chara-ext-asset_2", base64.b64encode(b"two")),
            text("ccv3", packed(v3(assets=list(self.ASSETS)))),
        )
        character, bundle = load_character(source)
        (joy,) = character.emotions
        (lamp,) = character.assets
        assert (joy.name, lamp.name, lamp.extension) == ("joy", "lamp", "gif")
        found = [bundle.asset(each.path) for each in (joy, lamp)]
        assert [asset.read() for asset in found if asset] == [b"one", b"two"]

    def test_a_card_of_version_2_names_them_in_risuais_part(self):
        own = {"risuai": {"emotions": [["joy", "__asset:1"]]}}
        source = png(text("chara-ext-asset_:1", base64.b64encode(b"one")), text("chara", packed(v2(extensions=own))))
        character, bundle = load_character(source)
        asset = bundle.asset(character.emotions[0].path)
        assert asset is not None
        assert asset.read() == b"one"

    def test_an_encrypted_card_that_is_damaged_is_refused(self):
        with pytest.raises(ParseError, match="encrypted by RisuAI and damaged"):
            load_character(png(text("chara", b"rcc||rccv1||AAAA||hash||e30=")))


class TestSaving:
    def character(self):
        extensions = {"risuai": {"customScripts": [SCRIPT], "triggerscript": [TRIGGER], "viewScreen": "emotion"}}
        assets = [{"type": "emotion", "uri": "embeded://assets/emotion/image/joy.png", "name": "joy", "ext": "png"}]
        source = charx(v3(extensions=extensions, assets=assets), **{"assets/emotion/image/joy.png": b"joyful"})
        return load_character(source)

    def test_a_charx_holds_a_module_as_risuais_do(self):
        character, bundle = self.character()
        data = save_charx(character, modified=7, module_id="m-1", assets=bundle.assets)
        saved = load(data)
        own = saved.card.character.extensions["risuai"]
        assert not {"customScripts", "triggerscript"} & own.keys()
        again, _ = load_character(data)
        book = {"loreExt": {"b": 1, "risu_fullWordMatching": False}}
        assert again.written == {**character.written, **book, "modification_date": 7, "sdData": []}
        emotion = saved.asset(again.emotions[0].path)
        assert emotion is not None
        assert emotion.read() == b"joyful"

    def test_the_module_is_the_one_that_risuai_would_write(self):
        character, _ = load_character(CHARX)
        data = save_charx(character, modified=0, module_id="066fd4c4-15fc-4760-8659-204c56036aa0")
        original, saved = load(CHARX).asset("embeded://module.risum"), load(data).asset("embeded://module.risum")
        assert original is not None
        assert saved is not None
        assert saved.read() == original.read()

    def test_a_picture_holds_everything_in_its_card(self):
        character, bundle = self.character()
        data = save_png(character, modified=7, assets=bundle.assets)
        again, saved = load_character(data)
        assert again.emotions[0].path == "__asset:1"
        emotion = saved.asset("__asset:1")
        assert emotion is not None
        assert emotion.read() == b"joyful"
        assert (again.scripts, again.triggers) == (character.scripts, character.triggers)

    def test_a_changed_character_is_saved_as_it_is_now(self):
        character, _ = self.character()
        changed = character.with_(description="New.", triggers=())
        again, _ = load_character(save_charx(changed, modified=0, module_id="m"))
        assert (again.description, again.triggers, again.scripts) == ("New.", (), character.scripts)


def test_lore_of_a_module_is_not_converted_again():
    decorated = {**LORE, "content": "@@depth 2\nbody", "extentions": {"probability": 3, "useProbability": True}}
    character, _ = load_character(with_module(risum(module(lorebook=[decorated]))))
    assert character.lore[0].written == decorated


def test_a_plain_json_card_is_a_character_too():
    character, bundle = load_character(json.dumps(v2()).encode())
    assert (character.name, bundle.format) == ("Ysolde", "json")


def test_assets_that_are_given_are_read_only_when_they_are_written():
    def load_it() -> bytes:
        raise ParseError("damaged")

    character, _ = load_character(json.dumps(v2()).encode())
    with pytest.raises(ParseError, match="damaged"):
        save_png(character, modified=0, assets=[Asset(name="a", uri="embeded://a", load=load_it)])


def test_a_module_alone_is_no_character():
    with pytest.raises(ParseError, match="RisuAI module"):
        load_character(risum(module()))
