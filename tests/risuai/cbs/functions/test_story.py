"""Who, what was said, and what is known: names, character, history, lore, modules, settings."""

import json

import pytest

from tavernkit.risuai.cbs import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.module import Module
from tavernkit.risuai.scene import Screen
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.stored import AssetName

from .scenes import KEEPER, a_scene, says

GROUP = RisuCharacter(name="Crew", is_group=True, description="hidden", lore=(LoreEntry(key="hidden"),))
NOBODY = a_scene(character=None)


def test_the_character_goes_by_the_nickname() -> None:
    assert says("{{char}} <bot>", a_scene(character=KEEPER.with_(nickname="Quill"))) == "Quill Quill"


def test_texts_that_are_compared_have_names_that_never_change() -> None:
    assert says("{{char}} {{user}}", consistent_names=True) == "botname username"


def test_in_a_group_the_speaker_gives_the_name() -> None:
    assert says("{{char}}", a_scene(character=GROUP), character_name="Ann") == "Ann"
    assert says("{{char}}", a_scene(character=GROUP)) == "Crew"
    assert says("{{char}}", character_name="Ann") == "Marlow"


@pytest.mark.parametrize("macro", ["{{char}}", "{{description}}", "{{history}}", "{{pick}}", "{{firstmsgindex}}"])
def test_without_a_character_macros_about_it_stay(macro: str) -> None:
    assert says(macro, NOBODY) == macro


@pytest.mark.parametrize(
    ("macro", "text"),
    [("{{lastmessageid}}", ""), ("{{emotionlist}}", ""), ("{{getvar::mood}}", "null"), ("{{user}}", "Tess")],
)
def test_some_have_an_answer_without_a_character(macro: str, text: str) -> None:
    assert says(macro, NOBODY) == text


def test_the_characters_texts_are_parsed() -> None:
    assert says("{{description}}") == "Marlow keeps the lamp."
    assert says("[{{description}}{{arraylength::{{lorebook}}}}]", a_scene(character=GROUP)) == "[0]"


def test_lore_is_listed_as_the_texts_of_its_objects() -> None:
    lore = LoreEntry(key="lamp", content="It burns.")
    module = Module(namespace="tidal", lore=(LoreEntry(key="tide"),))
    scene = a_scene(character=KEEPER.with_(lore=(lore,)), modules=(module,))
    entries = [json.loads(entry) for entry in json.loads(says("{{lorebook}}", scene))]
    assert [(entry["key"], entry["content"]) for entry in entries] == [("lamp", "It burns."), ("tide", "")]


def test_assets_are_listed_by_name() -> None:
    assets = (AssetName(name="lamp", path="p/lamp"), AssetName(name="a::b", path="p/b"))
    keeper = KEEPER.with_(assets=assets, emotions=assets[:1], lists_assets=True, unlisted_assets=("p/lamp",))
    module = Module(namespace="tidal", assets=assets[:1])
    scene = a_scene(character=keeper, modules=(module, Module(namespace="bare")))
    assert says("{{assetlist}}", scene) == r'["lamp","a\\u003A\\u003Ab"]'
    assert says("{{emotionlist}}", scene) == '["lamp"]'
    assert says("{{chardisplayasset}}", scene) == r'["a\\u003A\\u003Ab"]'
    assert says("{{moduleassetlist::tidal}}|{{moduleassetlist::none}}", scene) == '["lamp"]|'
    assert says("{{moduleassetlist::bare}}", scene) == "{{moduleassetlist::bare}}"
    assert says("{{moduleenabled::bare}}{{moduleenabled::none}}{{moduleenabled}}", scene) == "100"


def test_a_list_that_was_written_as_null_is_no_list() -> None:
    keeper = KEEPER.with_(written={"additionalAssets": None, "emotionImages": None})
    assert says("{{assetlist}}{{emotionlist}}", a_scene(character=keeper)) == "{{assetlist}}{{emotionlist}}"


@pytest.mark.parametrize(
    ("chat_index", "by_character", "by_user"),
    [
        (-1, "Only me, {{user}}.", ""),
        (0, "Mind the stairs, {{user}}.", "Mind the stairs, {{user}}."),
        (1, "Mind the stairs, {{user}}.", "Anyone there?"),
        (2, "Only me, {{user}}.", "Anyone there?"),
        (3, "Only me, {{user}}.", "The tide turned."),
        (4, "{{lastcharmessage}}", "{{lastusermessage}}"),
        (-2, "Mind the stairs, {{user}}.", "Mind the stairs, {{user}}."),
    ],
)
def test_what_was_said_before(chat_index: int, by_character: str, by_user: str) -> None:
    assert says("{{lastcharmessage}}", chat_index=chat_index) == by_character
    assert says("{{lastusermessage}}", chat_index=chat_index) == by_user


def test_a_greeting_that_does_not_exist_is_no_answer() -> None:
    assert says("{{lastcharmessage}}", a_scene(messages=(), greeting_index=0)) == "Rain again."
    assert says("{{lastcharmessage}}", a_scene(messages=(), greeting_index=7)) == "{{lastcharmessage}}"
    assert says("{{history}}", a_scene(messages=(), greeting_index=-2)) == "{{history}}"


def test_history_is_parsed_as_objects_and_raw_as_lines() -> None:
    objects = [json.loads(message) for message in json.loads(says("{{history}}"))]
    assert [message["data"] for message in objects] == [
        "Mind the stairs, Tess.",
        "Anyone there?",
        "Only me, Tess.",
        "The tide turned.",
    ]
    assert json.loads(says("{{history::role}}"))[1] == "char: Only me, {{user}}."
    assert json.loads(says("{{messages::x}}"))[1] == "Only me, {{user}}."
    assert len(json.loads(says("{{userhistory}}"))) == 2


def test_a_message_keeps_the_fields_it_was_read_with() -> None:
    message = RisuMessage(role="char", data="{{user}}", written={"role": "char", "data": "", "swipe": 2})
    (written,) = json.loads(says("{{charhistory}}", a_scene(messages=[message])))
    assert written == '{"role":"char","data":"Tess","swipe":2}'


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ("0", "Anyone there?"),
        ("", "Anyone there?"),
        ("2e0", "The tide turned."),
        ("1.5", None),
        ("-1", None),
        ("x", None),
    ],
)
def test_a_message_by_its_place(index: str, text: str | None) -> None:
    assert says(f"{{{{previouschatlog::{index}}}}}") == (text or "Out of range")


@pytest.mark.parametrize(
    ("options", "role"),
    [
        (CBSOptions(chat_role="narrator", is_first_message=True), "narrator"),
        (CBSOptions(is_first_message=True, chat_index=0), "char"),
        (CBSOptions(chat_index=0, role="system"), "user"),
        (CBSOptions(role="system"), "system"),
        (CBSOptions(), "null"),
        (CBSOptions(chat_index=9), "{{role}}"),
    ],
)
def test_the_role_comes_from_the_first_that_knows_it(options: CBSOptions, role: str) -> None:
    assert (
        says(
            "{{role}}",
            chat_index=options.chat_index,
            role=options.role,
            chat_role=options.chat_role,
            is_first_message=options.is_first_message,
        )
        == role
    )


def test_places_in_the_chat() -> None:
    assert says("{{chatindex}} {{firstmsgindex}} {{lastmessageid}} {{lastmessage}}") == "-1 -1 2 The tide turned."
    assert says("{{lastmessageid}}{{lastmessage}}", a_scene(messages=())) == "-1{{lastmessage}}"


def test_settings() -> None:
    settings = RisuSettings(
        model="claude-x", sub_model="small", main_prompt="For {{char}}", jailbreak_on=True, max_context=9
    )
    scene = a_scene(settings=settings, persona="{{user}}!", screen=Screen(width=3, height=4), trigger_id="btn")
    text = "{{model}} {{axmodel}} {{mainprompt}} {{jbtoggled}} {{maxcontext}} {{prefill}} {{persona}} {{screenwidth}}"
    assert says(text, scene) == "claude-x small For Marlow 1 9 1 Tess! 3"
    assert says("{{trigger_id}}{{screenheight}}", scene) == "btn4"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("version", "166.3.3"),
        ("MAJOR", "166"),
        ("lang", "en"),
        ("browserlang", "en-US"),
        ("modelname", "GPT-4o"),
        ("modelinternalid", "gpt-4o"),
        ("modeltokenizer", "2"),
        ("risutype", "web"),
        ("maxcontext", "4000"),
        ("Bogus", "Error: Bogus is not a valid metadata key."),
    ],
)
def test_metadata(key: str, told: str) -> None:
    assert says(f"{{{{metadata::{key}}}}}") == told


def test_a_model_that_is_not_known_is_described_by_its_name() -> None:
    scene = a_scene(settings=RisuSettings(model="mine", language=""))
    assert says("{{metadata::modelname}} {{metadata::modelprovider}} [{{metadata::lang}}]", scene) == "mine 4 []"
