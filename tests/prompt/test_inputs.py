"""What a build is given: whatever readers give is taken, and everything else gets a sentence that names it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tavernkit
from tavernkit import (
    Book,
    BudgetPreset,
    Character,
    Entry,
    Injection,
    InvalidCardError,
    LoreParseError,
    TavernKitError,
    User,
    build,
    risuai,
    sillytavern,
)
from tavernkit.characters import load, read_card
from tavernkit.errors import InvalidPresetError
from tavernkit.lore.files import read_book
from tavernkit.risuai.errors import SendingStopped
from tavernkit.risuai.files import read_preset_file
from tavernkit.sillytavern.presets import ChatPreset, read_preset

ROBIN = User(name="Robin")
CARD = {"spec": "chara_card_v2", "data": {"name": "Mira", "description": "Paints.", "extensions": {}}}
BUILDS = (build, sillytavern.build, risuai.build)
SAMPLE = Path(__file__).parent.parent / "characters" / "risuai.charx"


@pytest.mark.parametrize("build", BUILDS)
class TestEveryBuild:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *(("character", value) for value in ({}, "Mira", 5, [Character(name="Mira")])),
            *(("user", value) for value in ("Robin", {}, 5)),
            *(("history", value) for value in (5, "Hi", [5], [{"content": "Hi"}], {"role": "user"}, [None])),
            *(("message", value) for value in (None, 5, ["Hi"], b"Hi")),
            *(("attachments", value) for value in (None, 5, "a.png", ["a.png"])),
            *(("preset", value) for value in ({}, "preset.json", 5)),
            *(("books", value) for value in (None, "x", 5, ["x"], [{}], {}, Book(name="B"))),
            *(("generation_type", value) for value in (None, 5, "nomral", [])),
            *(("model", value) for value in (5, ["gpt"], {}, [])),
            *(("variables", value) for value in ({}, 5)),
            *(("estimator", value) for value in (len, "gpt")),
            *(("hooks", value) for value in ([], print)),
            *(("injections", value) for value in ([], [Injection(id="a", content="b")], {})),
            *(("clock", value) for value in (5, "now")),
            *(("rng", value) for value in (5, "seed")),
            *(("ids", value) for value in (5, [])),
            *(("strict", value) for value in (None, "yes", 1)),
            *(("instrumenter", value) for value in (5, True)),
            *(("warning_handler", value) for value in (5, [])),
            *(("metadata", value) for value in (5, [])),
            *(("trace", value) for value in (5, "yes")),
            *(("reports", value) for value in (None, 5, ["x"])),
            *(("pipeline", value) for value in (5, [])),
            ("persona", "A sailor."),
            ("character", Character(name="Mira", description=None)),
            ("user", User(name="Robin", persona=5)),
        ],
    )
    def test_a_wrong_input_is_named(self, build: Callable[..., Any], name: str, value: Any) -> None:
        inputs = {"character": Character(name="Mira"), "user": ROBIN, "message": "Hi", name: value}
        with pytest.raises((TypeError, ValueError), match=name):
            build(**inputs)

    @pytest.mark.parametrize(
        ("character", "field"),
        [
            (Character(name=5), "character.name"),  # type: ignore[arg-type]
            (Character(name="Mira", nickname=5), "character.nickname"),  # type: ignore[arg-type]
            (Character(name="Mira", extensions="x"), "character.extensions"),  # type: ignore[arg-type]
            (Character(name="Mira", alternate_greetings=("Hi", 5)), "character.alternate_greetings[1]"),  # type: ignore[arg-type]
            (Character(name="Mira", character_book={}), "character.character_book"),  # type: ignore[arg-type]
        ],
    )
    def test_a_wrong_field_of_a_character_is_named(
        self, build: Callable[..., Any], character: Character, field: str
    ) -> None:
        with pytest.raises(TypeError, match=f"^{re.escape(field)} must be "):
            build(character=character, user=ROBIN, message="Hi")

    def test_a_card_is_taken_in_every_form(self, build: Callable[..., Any]) -> None:
        card, _ = read_card(CARD)
        forms = (card.character, card, load(CARD), read_card(CARD))
        built = [build(character=form, user=ROBIN, message="Hi").plan.messages for form in forms]
        assert all(messages == built[0] for messages in built)
        assert any("Paints." in message.content for message in built[0])

    def test_what_was_broken_in_a_file_is_a_warning_or_its_error(self, build: Callable[..., Any]) -> None:
        bundle = load({**CARD, "data": {**CARD["data"], "tags": [{}]}})
        book = read_book({"entries": {"0": {"key": ["a"]}, "1": 5}, "name": "Tides"})
        for inputs, place, error in (
            ({"character": bundle}, "data.tags[0]", InvalidCardError),
            ({"character": Character(name="Mira"), "books": [book]}, "entries[1]", LoreParseError),
            ({"character": Character(name="Mira"), "reports": [book.report]}, "entries[1]", LoreParseError),
        ):
            warnings = build(user=ROBIN, message="Hi", **inputs).plan.warnings
            assert [(warning.code, warning.where["field"]) for warning in warnings] == [("broken_input", place)]
            assert place in warnings[0].message
            with pytest.raises(error) as raised:
                build(user=ROBIN, message="Hi", strict=True, **inputs)
            assert place in str(raised.value)


@pytest.mark.parametrize(
    ("build", "preset", "place"),
    [
        (sillytavern.build, read_preset({"prompts": [], "temperature": "hot"}), "temperature"),
        (risuai.build, read_preset_file({"mainPrompt": "", "maxContext": "wide"}), "maxContext"),
    ],
)
def test_a_preset_is_taken_with_its_report(build: Callable[..., Any], preset: Any, place: str) -> None:
    inputs = {"character": Character(name="Mira"), "user": ROBIN, "message": "Hi", "preset": preset}
    assert [warning.where["field"] for warning in build(**inputs).plan.warnings] == [place]
    with pytest.raises(InvalidPresetError, match=place):
        build(**inputs, strict=True)


@pytest.mark.parametrize("build", BUILDS[1:])
@pytest.mark.parametrize("story", [{}, "a story", Entry(id="1")])
def test_a_story_is_one_of_the_platform(build: Callable[..., Any], story: Any) -> None:
    with pytest.raises(TypeError, match="story must be a Story"):
        build(character=Character(name="Mira"), user=ROBIN, story=story)


def test_presets_of_the_other_platform_are_refused() -> None:
    mira = Character(name="Mira")
    with pytest.raises(TypeError, match="preset must be a RisuSettings"):
        risuai.build(character=mira, user=ROBIN, preset=ChatPreset())
    with pytest.raises(TavernKitError, match="not a RisuSettings"):
        sillytavern.build(character=mira, user=ROBIN, preset=risuai.RisuSettings())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Injection(id="a", content="b", position="chats"),
        lambda: sillytavern.AuthorsNote(position="chats"),
        lambda: sillytavern.AuthorsNote(role="narrator"),
        lambda: sillytavern.PersonaPlace(role="narrator"),
        lambda: sillytavern.build(
            character=Character(name="Mira"),
            user=ROBIN,
            story=sillytavern.Story(macros="2.0"),
        ),
        lambda: tavernkit.Trimmer("oldest"),
        lambda: tavernkit.dialects.get("klingon"),
        lambda: ChatPreset(names_behavior=7),
    ],
)
def test_a_word_that_is_none_of_the_choices_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"must be one of|Known|known"):
        make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Entry(id="1", keys="sea"), "Entry.keys must be a list, not text."),
        (lambda: Entry(id="1", keys=("sea", 5)), "Entry.keys[1] must be text, not an int."),
        (lambda: Entry(id="1").with_(content=None), "Entry.content must be text, not None."),
        (lambda: Entry(id="1", insertion_order="first"), "Entry.insertion_order must be a whole number, not text."),
        (lambda: Book(entries=({"keys": ["sea"]},)), "Book.entries[0] must be an Entry, not a dict."),
        (lambda: Injection(id="note", content=5), "Injection.content must be text, not an int."),
        (lambda: Injection(id="note", content="Rain.", depth="4"), "Injection.depth must be a whole number, not text."),
        (lambda: BudgetPreset(context_window_tokens="8k"), "BudgetPreset.context_window_tokens must be a whole number"),
        (lambda: ChatPreset(temperature="hot"), "ChatPreset.temperature must be a number, not text."),
        (lambda: ChatPreset(prompts=({},)), "ChatPreset.prompts[0] must be a PresetPrompt, not a dict."),
        (lambda: sillytavern.Story(settings={}), "Story.settings must be a UserSettings, not a dict."),
        (lambda: sillytavern.Story(group="us"), "Story.group must be a StoryGroup or None, not text."),
        (lambda: sillytavern.Story(forced_lore="1"), "Story.forced_lore must be a set, not text."),
        (lambda: risuai.Story(toggles=["night"]), "Story.toggles must be a mapping, not a list."),
        (lambda: risuai.Story(modules=("Sea",)), "Story.modules[0] must be a Module, not text."),
    ],
)
def test_a_value_of_a_wrong_field_cannot_be_made(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}"):
        make()


def test_a_wrong_field_of_a_preset_of_risuai_is_named() -> None:
    with pytest.raises(TypeError, match=r"^preset\.main_prompt must be text, not an int\.$"):
        risuai.build(character=Character(name="Mira"), user=ROBIN, preset=risuai.RisuSettings(main_prompt=5))  # type: ignore[arg-type]


def test_risuai_runs_the_triggers_of_the_module_inside_a_card_file() -> None:
    with pytest.raises(SendingStopped):
        risuai.build(character=load(SAMPLE), user=ROBIN, message="Hi")
