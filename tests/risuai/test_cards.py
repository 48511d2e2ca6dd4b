"""Cards as RisuAI imports and exports them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.characters.card_files import v1, v2, v3
from tests.risuai.files.builders import LORE, SCRIPT, TRIGGER
from tests.strategies import cards, json_objects, json_values

from tavernkit.characters import read_card
from tavernkit.errors import InvalidCardError
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai.cards import export_card, from_card, import_card
from tavernkit.risuai.character import RisuCharacter, read_character
from tavernkit.risuai.files import write_character


def character_of(**fields):
    return read_character(LooseObject({"name": "Marlow", **fields}, ReportBuilder()))


class TestImport:
    def test_each_field_finds_its_place(self):
        fields = import_card(v2(post_history_instructions="phi", system_prompt="sys"))
        assert (fields["desc"], fields["firstMessage"]) == ("Mends clocks.", "Tick.")
        assert (fields["systemPrompt"], fields["replaceGlobalNote"]) == ("sys", "phi")
        assert fields["additionalData"] == {"tag": ["clock"], "creator": "me", "character_version": "1.0"}

    def test_what_risuai_keeps_in_its_own_part_is_taken_out_of_it(self):
        own = {"customScripts": [SCRIPT], "triggerscript": [TRIGGER], "utilityBot": True, "defaultVariables": "a=1"}
        fields = import_card(v3(extensions={"risuai": own, "depth_prompt": {"depth": 1}, "other": 1}))
        assert (fields["customscript"], fields["triggerscript"]) == ([SCRIPT], [TRIGGER])
        assert (fields["utilityBot"], fields["defaultVariables"]) == (True, "a=1")
        assert fields["extentions"] == {"other": 1}

    def test_lore_that_risuai_has_no_field_for_becomes_decorators(self):
        entry = {"keys": ["reef"], "content": "Sharp.", "extensions": {"probability": 40, "useProbability": True}}
        fields = import_card(v2(character_book={"extensions": {"x": 1}, "entries": [entry]}))
        assert fields["globalLore"][0]["content"] == "@@probability 40\nSharp."
        assert fields["loreExt"] == {"x": 1}
        assert "loreSettings" not in fields

    def test_a_lorebook_sets_its_scan_only_when_it_says_everything(self):
        book = {"scan_depth": 4, "token_budget": 300, "recursive_scanning": False, "entries": []}
        fields = import_card(v2(character_book={**book, "extensions": {"risu_fullWordMatching": True}}))
        assert fields["loreSettings"] == {
            "tokenBudget": 300,
            "scanDepth": 4,
            "recursiveScanning": False,
            "fullWordMatching": True,
        }
        assert "loreSettings" not in import_card(v2(character_book={**book, "scan_depth": None}))

    def test_assets_are_sorted_by_what_they_are_for(self):
        assets = [
            {"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"},
            {"type": "emotion", "uri": "embeded://a.png", "name": "joy", "ext": "png"},
            {"type": "x-risu-asset", "uri": "__asset:1", "name": "lamp", "ext": "gif"},
            {"type": "background", "uri": "data:,x", "name": "sea"},
            {"type": "background", "uri": "https://example.invalid/x", "name": "far", "ext": "png"},
        ]
        fields = import_card(v3(assets=assets), files=("embeded://a.png", "__asset:1"))
        assert fields["emotionImages"] == [["joy", "embeded://a.png"]]
        assert fields["additionalAssets"] == [["lamp", "__asset:1", "gif"]]
        assert fields["ccAssets"] == [{"type": "background", "uri": "data:,x", "name": "sea", "ext": "unknown"}]

    def test_a_card_of_version_2_keeps_its_assets_in_risuais_part(self):
        own = {"emotions": [["joy", "__asset:1"], ["rue", "AAAA"]], "additionalAssets": [["lamp", "AAAA", "gif"]]}
        fields = import_card(v2(extensions={"risuai": own}), files=("__asset:1",))
        assert fields["emotionImages"] == [
            ["joy", "__asset:1"],
            ["rue", "data:application/octet-stream;base64,AAAA"],
        ]
        assert fields["additionalAssets"] == [["lamp", "data:application/octet-stream;base64,AAAA", "gif"]]

    @pytest.mark.parametrize(
        ("card", "sentence"),
        [
            (v1(), "version 2 and 3"),
            ({"spec": "chara_card_v2"}, "version 2 and 3"),
            (v2(extensions=None), "extensions should be an object"),
            (v2(character_book={"entries": None}), "its entries should be a list"),
            (v2(character_book={"entries": [{"content": "x"}]}), "each with keys"),
            (v3(assets=[{"type": "icon"}]), "has no URI"),
            (v3(assets=[{"uri": "embeded://gone.png"}]), "no asset 'embeded://gone.png' beside it"),
            (v2(extensions={"risuai": {"emotions": [["joy"]]}}), "list of its assets is damaged"),
        ],
    )
    def test_what_risuai_cannot_import_is_refused(self, card, sentence):
        with pytest.raises(InvalidCardError, match=sentence):
            import_card(card)

    @given(
        spec=st.sampled_from(("chara_card_v2", "chara_card_v3")),
        data=json_objects,
        own=st.dictionaries(
            st.sampled_from(("emotions", "additionalAssets", "customScripts", "bias", "source")), json_values
        ),
        fields=st.dictionaries(
            st.sampled_from(("assets", "character_book", "name", "source", "character_version")), json_values
        ),
    )
    def test_any_card_is_imported_or_refused(self, spec, data, own, fields):
        card = {"spec": spec, "data": {**data, **fields, "extensions": {"risuai": own}}}
        with contextlib.suppress(InvalidCardError):
            imported = import_card(card)
            export_card(read_character(LooseObject(imported, ReportBuilder())), modified=0)


class TestCharacter:
    @given(source=cards)
    def test_any_card_that_can_be_read_is_a_character(self, source):
        card, _ = read_card(source)
        character = from_card(card.character, id="cha-1")
        assert (character.name, character.id) == (card.character.name, "cha-1")
        assert write_character(character) == character.written

    def test_it_is_the_same_as_importing_the_card_itself(self):
        source = v3(nickname="Yso", extensions={"risuai": {"customScripts": [SCRIPT], "additionalText": "more"}})
        card, _ = read_card(source)
        assert from_card(card.character).written == {**import_card(source), "chaId": ""}

    def test_the_chance_of_older_entries_becomes_a_decorator_when_the_character_is_opened(self):
        entry = {"keys": ["reef"], "content": "Sharp.", "extensions": {"risu_activationPercent": 40}}
        source = v2(character_book={"extensions": {}, "entries": [entry]})
        assert import_card(source)["globalLore"][0]["content"] == "Sharp."
        card, _ = read_card(source)
        assert [lore.content for lore in from_card(card.character).lore] == ["@@probability 40\nSharp."]

    def test_a_damaged_list_of_assets_does_not_stand_in_the_way(self):
        card, _ = read_card(v2(extensions={"risuai": {"emotions": [["joy"], 3, ["rue", "__asset:1"]]}}))
        assert [emotion.name for emotion in from_card(card.character).emotions] == ["rue"]

    def test_other_lore_may_stand_in(self):
        card, _ = read_card(v3())
        assert [entry.key for entry in from_card(card.character).lore] == ["gear"]
        assert [entry.key for entry in from_card(card.character, lore=[LORE]).lore] == ["tide"]


class TestExport:
    def test_a_new_character_gets_what_risuai_always_writes(self):
        data = export_card(RisuCharacter(name="Nell"), modified=1741529225)["data"]
        assert (data["name"], data["modification_date"], data["creation_date"]) == ("Nell", 1741529225, 0)
        assert data["extensions"]["risuai"]["viewScreen"] == "none"
        assert data["character_book"] == {"extensions": {"risu_fullWordMatching": False}, "entries": []}
        assert data["assets"] == [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]

    def test_lore_is_written_with_lists_of_keys(self):
        lore = {**LORE, "key": "k1, k2", "secondkey": "s1,s2", "selective": True, "folder": "f", "loreCache": None}
        (entry,) = export_card(character_of(globalLore=[lore]), modified=0)["data"]["character_book"]["entries"]
        assert (entry["keys"], entry["secondary_keys"]) == (["k1", "k2"], ["s1", "s2"])
        assert (entry["name"], entry["mode"], entry["folder"]) == ("T", "normal", "f")
        assert entry["extensions"] == {"risu_loreCache": None}

    def test_what_an_older_card_said_of_an_entry_is_forgotten_with_the_entrys_own_field(self):
        lore = {**LORE, "extentions": {"risu_activationPercent": 40, "other": None}}
        (entry,) = export_card(character_of(globalLore=[lore]), modified=0)["data"]["character_book"]["entries"]
        assert entry["extensions"] == {"other": None}

    def test_the_picture_stands_behind_the_emotions(self):
        exported = export_card(character_of(emotionImages=[["calm", "p/calm"]]), modified=0)
        assert [(asset["type"], asset["uri"]) for asset in exported["data"]["assets"]] == [
            ("emotion", "p/calm"),
            ("icon", "ccdefault:"),
        ]

    def test_a_missing_version_is_the_word_that_javascript_has_for_it(self):
        assert export_card(character_of(), modified=0)["data"]["character_version"] == "undefined"

    def test_changes_are_exported(self):
        character = character_of(globalLore=[LORE], extentions={"other": 1})
        changed = character.with_(description="New.", lore=(character.lore[0].with_(content="Ebb."),))
        data = export_card(changed, modified=0)["data"]
        assert data["description"] == "New."
        assert data["character_book"]["entries"][0]["content"] == "Ebb."
        assert data["extensions"]["other"] == 1

    @given(source=cards)
    def test_an_exported_card_is_imported_as_the_same_character(self, source):
        card, _ = read_card(source)
        before = from_card(card.character)
        after, _ = read_card(export_card(before, modified=0))
        again = from_card(after.character)
        assert (again.name, again.description, again.first_message) == (
            before.name,
            before.description,
            before.first_message,
        )
        assert [entry.content for entry in again.lore] == [entry.content for entry in before.lore]
        assert again.scripts == before.scripts
        assert again.alternate_greetings == before.alternate_greetings
