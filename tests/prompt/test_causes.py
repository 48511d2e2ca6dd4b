"""Each change to what a prompt is built from, and the cause that a comparison of the two prompts must name."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sillytavern.stories.builders import preset

from tavernkit import Book, Built, Character, Entry, Message, User, risuai, sillytavern
from tavernkit.hooks import BuildHooks
from tavernkit.macros import Variables
from tavernkit.prompt.comparing import PromptComparison, compare
from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import ExplainedMessage, ExplainedSpan, Explanation, FromBlock
from tavernkit.risuai import PromptCard, RisuSettings
from tavernkit.sillytavern import AuthorsNote, Story, UserSettings
from tavernkit.sillytavern.presets import ChatPreset, Instruct, PresetPrompt, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.regex_scripts.script import RegexScript
from tavernkit.sillytavern.story import PersonaPlace, PersonaPosition
from tavernkit.sillytavern.world_info import WorldInfoSettings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Inputs = Mapping[str, Any]

WREN = Character(name="Wren", description="Wren mends clocks.", character_version="1")
CHAT = ("The ferry is late.", "So it is.", "Rain again.", "Take my coat.", "Shall we go?")


class _Counting:
    """A token for each word."""

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


def said(*texts: str, hidden: Sequence[int] = (), swipes: Mapping[int, int] | None = None) -> list[Message]:
    return [
        Message(
            role="assistant" if place % 2 else "user",
            content=text,
            metadata={"is_system": True} if place in hidden else {"swipe_id": (swipes or {}).get(place, 0)},
        )
        for place, text in enumerate(texts)
    ]


def entry(content: str, *keys: str, name: str = "Harbor", **fields: Any) -> Entry:
    extensions = {key: fields.pop(key) for key in list(fields) if key not in Entry.__struct_fields__}
    return Entry(id="1", name=name, keys=keys, content=content, extensions=extensions, **fields)


def books(*entries: Entry) -> list[Book]:
    return [Book(name="Coast", entries=tuple(one.with_(id=str(place)) for place, one in enumerate(entries)))]


def prompts(*own: PresetPrompt, off: tuple[str, ...] = (), **fields: Any) -> ChatPreset:
    return preset(*own, main="Be {{char}}.", off=off, **fields)


def own(content: str, identifier: str = "style", name: str = "Style", **fields: Any) -> PresetPrompt:
    return PresetPrompt(identifier=identifier, name=name, content=content, **fields)


def built(inputs: Inputs) -> Built[Any]:
    usual: dict[str, Any] = {
        "character": WREN,
        "user": User(name="Ada", persona="Ada bakes."),
        "history": said(*CHAT),
        "preset": prompts(),
        "estimator": _Counting(),
        "variables": Variables(),
        "clock": lambda: NOW,
        "rng": random.Random(7),
        "trace": True,
    }
    given = {**usual, **inputs}
    return (risuai if isinstance(given["preset"], RisuSettings) else sillytavern).build(**given)


def changes(before: Inputs, after: Inputs) -> PromptComparison:
    return compare(built(before).explain(), built(after).explain())


def lore(settings: Mapping[str, Any] | None = None, **story: Any) -> Story:
    return Story(world_info=WorldInfoSettings(depth=2, **(settings or {})), **story)


def variables(**local: Any) -> Variables:
    return Variables(local)


def rolling(number: float) -> random.Random:
    class Loaded(random.Random):
        def random(self) -> float:
            return number

    return Loaded()


FERRY_LEFT = said(*CHAT[:3], "The ferry leaves.")


def cooled(entry: Entry, depth: int) -> Story:
    """The story of a chat in whose fourth message the entry was activated."""
    state = built({"books": books(entry), "story": lore(), "history": FERRY_LEFT}).result.timed
    return Story(world_info=WorldInfoSettings(depth=depth), timed=state)


FERRY = entry("The harbor is old.", "ferry")
FERRY_SAID = said(*CHAT[:4], "The ferry!")
STAR = RegexScript(
    id="s", scriptName="Star", findRegex="/rain/gi", replaceString="snow", placement=(1, 2), promptOnly=True
)
STICKY, COOLING = FERRY.with_(extensions={"sticky": 2}), FERRY.with_(extensions={"cooldown": 2})
ROOMY, NARROW = (
    prompts(openai_max_context=400, openai_max_tokens=10),
    prompts(openai_max_context=64, openai_max_tokens=10),
)
INSTRUCT = Instruct(name="Chat", enabled=True, input_sequence="<user> ", output_sequence="<bot> ", wrap=True)


def text(**settings: Any) -> dict[str, Any]:
    return {"preset": TextPreset(max_length=2000, genamt=100), "story": Story(settings=UserSettings(**settings))}


def risu(*cards: PromptCard, **settings: Any) -> dict[str, Any]:
    usual = (PromptCard(type="plain", kind="main", text="Be {{char}}."), PromptCard(type="description"))
    template = (*usual, *cards, PromptCard(type="lorebook"), PromptCard(type="chat", range_start=0))
    return {"preset": RisuSettings(template=template, lore_depth=2, **settings)}


def with_artifact(version: int) -> BuildHooks:
    def put(ctx: Context) -> None:
        block = ctx.new_block(source="artifact:mood", content=f"Mood {version}.", removable=False)
        artifacts = [{"artifact": "mood", "version": version}]
        ctx.blocks.append(block.with_(metadata={**block.metadata, "artifacts": artifacts}))

    hooks = BuildHooks()
    hooks.before_trimming(put)
    return hooks


CASES: dict[str, tuple[Inputs, Inputs, str, str]] = {
    "an entry is activated by a new message": (
        {"books": books(FERRY), "story": lore()},
        {"books": books(FERRY), "story": lore(), "history": said(*CHAT, "The ferry!")},
        "entry_activated",
        "Entry Harbor activated by “ferry” in message 5",
    ),
    "an entry leaves the scan depth": (
        {"books": books(FERRY), "story": lore(), "history": FERRY_SAID},
        {"books": books(FERRY), "story": lore(), "history": [*FERRY_SAID, *said("Yes.", "Come.")]},
        "left_scan_depth",
        "Entry Harbor: “ferry” in message 4 left the scan depth",
    ),
    "the scan depth is changed": (
        {"books": books(FERRY), "story": lore()},
        {"books": books(FERRY), "story": Story(world_info=WorldInfoSettings(depth=5))},
        "setting_changed",
        "Scan depth changed from 2 to 5",
    ),
    "matching of whole words is switched off": (
        {"books": books(FERRY), "story": lore({"match_whole_words": True}), "history": said("A ferryman.")},
        {"books": books(FERRY), "story": lore(), "history": said("A ferryman.")},
        "setting_changed",
        "Matching of whole words changed from on to off",
    ),
    "an entry is switched off": (
        {"books": books(FERRY), "story": lore(), "history": FERRY_SAID},
        {"books": books(FERRY.with_(enabled=False)), "story": lore(), "history": FERRY_SAID},
        "entry_off",
        "Entry Harbor switched off",
    ),
    "an entry is switched on": (
        {"books": books(FERRY.with_(enabled=False)), "story": lore(), "history": FERRY_SAID},
        {"books": books(FERRY), "story": lore(), "history": FERRY_SAID},
        "entry_on",
        "Entry Harbor switched on",
    ),
    "an entry is edited": (
        {"books": books(FERRY), "story": lore(), "history": FERRY_SAID},
        {"books": books(FERRY.with_(content="The harbor is new.")), "story": lore(), "history": FERRY_SAID},
        "entry_edited",
        "Entry Harbor edited",
    ),
    "an entry is added": (
        {"books": books(entry("x", name="Other")), "story": lore()},
        {"books": books(entry("x", name="Other"), entry("Fog.", constant=True)), "story": lore()},
        "entry_added",
        "Entry Harbor added",
    ),
    "a lorebook is removed": (
        {"books": books(entry("Fog.", constant=True)), "story": lore()},
        {"books": [], "story": lore()},
        "book_removed",
        "Lorebook Coast removed",
    ),
    "a cooldown ends": (
        {"books": books(COOLING), "story": cooled(COOLING, 5), "history": [*FERRY_LEFT, *said("Hm.")]},
        {"books": books(COOLING), "story": cooled(COOLING, 5), "history": [*FERRY_LEFT, *said("Hm.", "So.")]},
        "cooldown_ended",
        "Entry Harbor: cooldown ended",
    ),
    "a sticky entry lets go": (
        {"books": books(STICKY), "story": cooled(STICKY, 1), "history": [*FERRY_LEFT, *said("Hm.")]},
        {"books": books(STICKY), "story": cooled(STICKY, 1), "history": [*FERRY_LEFT, *said("Hm.", "So.")]},
        "sticky_ended",
        "Entry Harbor: sticky ended",
    ),
    "chance decides otherwise": (
        {
            "books": books(FERRY.with_(extensions={"probability": 37})),
            "story": lore(),
            "history": FERRY_SAID,
            "rng": rolling(0.2),
        },
        {
            "books": books(FERRY.with_(extensions={"probability": 37})),
            "story": lore(),
            "history": FERRY_SAID,
            "rng": rolling(0.61),
        },
        "chance",
        "Entry Harbor: probability: 37 of 100, rolled 61",
    ),
    "the lore budget is cut": (
        {"books": books(FERRY), "story": lore({"budget_cap": 100}), "history": FERRY_SAID},
        {"books": books(FERRY), "story": lore({"budget_cap": 2}), "history": FERRY_SAID},
        "setting_changed",
        "Lore budget cap changed from 100 to 2",
    ),
    "a secondary key is gone": (
        {
            "books": books(FERRY.with_(secondary_keys=("rope",), selective=True)),
            "story": lore(),
            "history": said(*CHAT[:3], "A rope.", "The ferry!"),
        },
        {
            "books": books(FERRY.with_(secondary_keys=("rope",), selective=True)),
            "story": lore(),
            "history": said(*CHAT[:3], "A knot.", "The ferry!"),
        },
        "secondary_key",
        "Entry Harbor: “ferry” was found in message 4, but not “rope”",
    ),
    "a variable changes": (
        {"preset": prompts(own("Feel {{getvar::mood}}.")), "variables": variables(mood="calm")},
        {"preset": prompts(own("Feel {{getvar::mood}}.")), "variables": variables(mood="angry")},
        "variable_changed",
        "Variable mood changed from calm to angry",
    ),
    "a variable decides over a passage": (
        {"preset": prompts(own("Go.{{if {{getvar::war}}}} Fight.{{/if}}")), "variables": variables(war="1")},
        {"preset": prompts(own("Go.{{if {{getvar::war}}}} Fight.{{/if}}")), "variables": variables(war="")},
        "variable_changed",
        "Variable war changed from 1 to nothing",
    ),
    "time passes": (
        {"preset": prompts(own("It is {{time}}."))},
        {"preset": prompts(own("It is {{time}}.")), "clock": lambda: NOW + timedelta(hours=3)},
        "time_passed",
        "{{time}}: time has passed",
    ),
    "chance answers otherwise": (
        {"preset": prompts(own("{{random::red::blue}}")), "rng": rolling(0.1)},
        {"preset": prompts(own("{{random::red::blue}}")), "rng": rolling(0.9)},
        "chance",
        "{{random}}: chance has decided otherwise",
    ),
    "a preset prompt is switched on": (
        {"preset": prompts(own("Short words."), off=("style",))},
        {"preset": prompts(own("Short words."))},
        "prompt_on",
        "Preset prompt Style switched on",
    ),
    "a preset prompt is switched off": (
        {"preset": prompts(own("Short words."))},
        {"preset": prompts(own("Short words."), off=("style",))},
        "prompt_off",
        "Preset prompt Style switched off",
    ),
    "a preset prompt is edited": (
        {"preset": prompts(own("Short words."))},
        {"preset": prompts(own("Long words."))},
        "prompt_edited",
        "Preset prompt Style edited",
    ),
    "a preset prompt is moved into the chat": (
        {"preset": prompts(own("Short words."))},
        {"preset": prompts(own("Short words.", injection_position=1, injection_depth=2))},
        "prompt_moved",
        "Preset prompt Style moved from its place to system, depth 2, order 100",
    ),
    "a marker is switched off": (
        {},
        {"preset": prompts(off=("charDescription",))},
        "prompt_off",
        "Preset prompt charDescription switched off",
    ),
    "a prompt is for another kind of generation": (
        {"preset": prompts(own("Short words.", injection_trigger=("normal",)))},
        {"preset": prompts(own("Short words.", injection_trigger=("normal",))), "generation_type": "quiet"},
        "generation_changed",
        "Generation type changed from normal to quiet",
    ),
    "another preset is used": (
        {"preset": prompts(own("Short words."), name="Plain")},
        {"preset": prompts(own("Long words."), name="Rich")},
        "preset_changed",
        "Preset changed from Plain to Rich",
    ),
    "a heading of the preset is edited": (
        {},
        {"preset": prompts(new_chat_prompt="[Begin.]")},
        "preset_field",
        "Preset field new_chat_prompt changed from [New] to [Begin.]",
    ),
    "the persona is edited": (
        {},
        {"user": User(name="Ada", persona="Ada brews.")},
        "persona_edited",
        "Persona edited",
    ),
    "the persona is another": (
        {},
        {"user": User(name="Bea", persona="Bea sings.")},
        "persona_changed",
        "Persona changed from Ada to Bea",
    ),
    "the persona is moved": (
        {},
        {"story": Story(persona=PersonaPlace(position=PersonaPosition.AT_DEPTH, depth=1))},
        "persona_moved",
        "Persona moved from in prompt to at depth, depth 1, system",
    ),
    "a field of the card is edited": (
        {},
        {"character": WREN.with_(description="Wren breaks clocks.")},
        "card_edited",
        "description of Wren edited",
    ),
    "the card has another version": (
        {},
        {"character": WREN.with_(description="Wren breaks clocks.", character_version="2")},
        "card_version",
        "Card Wren changed from version 1 to 2",
    ),
    "somebody else speaks": (
        {},
        {"character": Character(name="Ivo", description="Ivo fishes.")},
        "character_changed",
        "Character changed from Wren to Ivo",
    ),
    "the card gets its own main prompt": (
        {"preset": prompts()},
        {"preset": prompts(), "character": WREN.with_(system_prompt="You are a bird.")},
        "card_edited",
        "system_prompt of Wren edited",
    ),
    "the author's note is edited": (
        {"story": Story(note=AuthorsNote(text="Slowly."))},
        {"story": Story(note=AuthorsNote(text="Quickly."))},
        "note_edited",
        "Author's note edited",
    ),
    "the author's note is moved": (
        {"story": Story(note=AuthorsNote(text="Slowly.", depth=1))},
        {"story": Story(note=AuthorsNote(text="Slowly.", depth=3))},
        "note_moved",
        "Author's note moved from chat, depth 1, system to chat, depth 3, system",
    ),
    "it is not the turn of the author's note": (
        {"story": Story(note=AuthorsNote(text="Slowly.", interval=3))},
        {"story": Story(note=AuthorsNote(text="Slowly.", interval=3)), "history": said(*CHAT, "No.", "Yes.")},
        "note_due",
        "Author's note: it is not its turn in this message",
    ),
    "the scenario of the chat is edited": (
        {"story": Story(scenario="A pier.")},
        {"story": Story(scenario="A tower.")},
        "chat_edited",
        "scenario of the chat edited",
    ),
    "a message is new": (
        {},
        {"history": said(*CHAT, "Yes, let us.")},
        "new_message",
        "Message 5 is new",
    ),
    "a message is edited": (
        {},
        {"history": said(*CHAT[:4], "Shall we stay?")},
        "message_edited",
        "Message 4 edited",
    ),
    "another swipe is shown": (
        {},
        {"history": said(*CHAT[:3], "Take mine.", CHAT[4], swipes={3: 2})},
        "swipe_changed",
        "Message 3: swipe 2 in place of swipe 0",
    ),
    "a message is hidden": (
        {},
        {"history": said(*CHAT, hidden=(2,))},
        "message_hidden",
        "Message 2 hidden",
    ),
    "a message is deleted": (
        {},
        {"history": [*said(*CHAT)[:2], *said(*CHAT)[3:]]},
        "message_deleted",
        "Message 2 deleted",
    ),
    "the window of the history moves": (
        {"preset": NARROW},
        {"preset": NARROW, "history": said(*CHAT, "One two three four five six seven eight.")},
        "history_window",
        "History window moved by 2 messages",
    ),
    "the context is smaller": (
        {"preset": ROOMY},
        {"preset": NARROW, "history": said(*CHAT)},
        "setting_changed",
        "Context size changed from 400 to 64",
    ),
    "a regex script is switched on": (
        {"story": Story(regex_scripts=RegexScripts(global_=(STAR.with_(disabled=True),)))},
        {"story": Story(regex_scripts=RegexScripts(global_=(STAR,)))},
        "regex_on",
        "Regex script Star switched on",
    ),
    "a regex script is edited": (
        {"story": Story(regex_scripts=RegexScripts(global_=(STAR,)))},
        {"story": Story(regex_scripts=RegexScripts(global_=(STAR.with_(replaceString="hail"),)))},
        "regex_edited",
        "Regex script Star edited",
    ),
    "an artifact has a new version": (
        {"hooks": with_artifact(1)},
        {"hooks": with_artifact(2)},
        "artifact_version",
        "Artifact mood: version 2 in place of 1",
    ),
    "an injection is edited": (
        {"story": Story(extension_prompts=(sillytavern.ExtensionPrompt(key="tip", content="Nod.", position="chat"),))},
        {"story": Story(extension_prompts=(sillytavern.ExtensionPrompt(key="tip", content="Wink.", position="chat"),))},
        "injection_changed",
        "Injection tip edited",
    ),
    "text: a sequence of the template is edited": (
        text(instruct=INSTRUCT),
        text(instruct=INSTRUCT.with_(input_sequence="[user] ")),
        "template_edited",
        "Template instruct.input_sequence edited",
    ),
    "text: another instruct template": (
        text(instruct=INSTRUCT),
        text(instruct=INSTRUCT.with_(name="Story", input_sequence="[user] ", output_sequence="[bot] ")),
        "template_changed",
        "Instruct template changed from Chat to Story",
    ),
    "text: a message is new": (
        text(instruct=INSTRUCT),
        {**text(instruct=INSTRUCT), "history": said(*CHAT, "Yes, let us.")},
        "new_message",
        "Message 5 is new",
    ),
    "text: the persona is edited": (
        text(),
        {**text(), "user": User(name="Ada", persona="Ada brews.")},
        "persona_edited",
        "Persona edited",
    ),
    "risuai: an entry is activated": (
        {**risu(), "books": books(FERRY)},
        {**risu(), "books": books(FERRY), "history": said(*CHAT, "The ferry!")},
        "entry_activated",
        "Entry Harbor activated by “ferry” in message 5",
    ),
    "risuai: the scan depth is changed": (
        {**risu(), "books": books(FERRY)},
        {"preset": risu()["preset"].with_(lore_depth=5), "books": books(FERRY)},
        "setting_changed",
        "Scan depth changed from 2 to 5",
    ),
    "risuai: a toggle decides over a card": (
        {**risu(PromptCard(type="plain", name="War", text="{{#if {{getglobalvar::toggle_war}}}}Fight.{{/if}}"))}
        | {"story": risuai.Story(toggles={"war": "1"})},
        {**risu(PromptCard(type="plain", name="War", text="{{#if {{getglobalvar::toggle_war}}}}Fight.{{/if}}"))}
        | {"story": risuai.Story(toggles={"war": "0"})},
        "toggle_changed",
        "Toggle war changed from 1 to 0",
    ),
    "risuai: a card of the template is edited": (
        risu(PromptCard(type="plain", name="Style", text="Short words.")),
        risu(PromptCard(type="plain", name="Style", text="Long words.")),
        "prompt_edited",
        "Preset prompt Style edited",
    ),
    "risuai: the jailbreak is switched on": (
        risu(PromptCard(type="jailbreak", name="Free", text="Speak freely.")),
        risu(PromptCard(type="jailbreak", name="Free", text="Speak freely."), jailbreak_on=True),
        "prompt_on",
        "Preset prompt Free switched on",
    ),
    "risuai: the description is edited": (
        risu(),
        {**risu(), "character": WREN.with_(description="Wren breaks clocks.")},
        "card_edited",
        "description of Wren edited",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cause_of_a_change_is_named(case: str) -> None:
    before, after, code, sentence = CASES[case]
    found = changes(before, after)
    assert (code, sentence) in [(cause.code, cause.sentence) for cause in found.causes], found
    assert "unknown" not in [change.code for change in found.changes]


def test_several_causes_are_named_the_nearest_first() -> None:
    found = changes(
        {"books": books(COOLING), "story": cooled(COOLING, 5), "history": [*FERRY_LEFT, *said("Hm.")]},
        {"books": books(COOLING), "story": cooled(COOLING, 5), "history": [*FERRY_LEFT, *said("Hm.", "So.")]},
    )
    change = next(change for change in found.changes if change.code == "cooldown_ended")
    assert [(cause.code, cause.sentence) for cause in change.also] == [
        ("entry_activated", "Entry Harbor activated by “ferry” in message 3")
    ]


def test_what_nobody_knows_a_cause_of_is_said_to_have_changed() -> None:
    before = Explanation(
        messages=(ExplainedMessage(role="user", content="a", spans=(ExplainedSpan(text="a", source=FromBlock()),)),)
    )
    after = Explanation(
        messages=(ExplainedMessage(role="user", content="b", spans=(ExplainedSpan(text="b", source=FromBlock()),)),)
    )
    (change,) = compare(before, after).changes
    assert (change.kind, change.code, change.cause) == ("changed", "unknown", "Text changed")


def test_a_setter_of_a_variable_is_named_where_it_is_known() -> None:
    mood = prompts(own("Feel {{getvar::mood}}."))
    before = built({"preset": mood, "variables": variables(mood="calm")}).explain()
    after = built({"preset": mood, "variables": variables(mood="angry")}).explain()
    known = after.with_(facts={**after.facts, "variable_by": {"local.mood": "swipe 2"}})
    (change,) = compare(before, known).changes
    assert change.cause == "Variable mood changed (swipe 2 set it from calm to angry)"


keys = st.sampled_from((FERRY, STICKY, entry("Fog.", constant=True), entry("Rain falls.", "rain", "coat")))
inputs = st.fixed_dictionaries(
    {
        "books": st.lists(keys, max_size=3).map(lambda entries: books(*entries)),
        "history": st.lists(st.sampled_from(CHAT), max_size=8).map(lambda lines: said(*lines)),
        "preset": st.sampled_from((prompts(), prompts(own("Feel {{getvar::mood}}. {{user}}!")), NARROW)),
        "variables": st.sampled_from(("calm", "angry")).map(lambda mood: variables(mood=mood)),
        "user": st.sampled_from((User(name="Ada", persona="Ada bakes."), User(name="Bea", persona="Bea sings."))),
    }
)
texts = st.sampled_from((text(), text(instruct=INSTRUCT)))


@settings(max_examples=60)
@given(before=inputs, after=inputs, one_text=st.none() | texts)
def test_every_changed_character_is_in_exactly_one_change(
    before: dict[str, Any], after: dict[str, Any], one_text: dict[str, Any] | None
) -> None:
    old, new = (built({**one, **(one_text or {})}).explain() for one in (before, after))
    found = compare(old, new)
    rest_before, rest_after = list(_rest(old, found, "before")), list(_rest(new, found, "after"))
    assert rest_before == rest_after
    assert compare(old, old).changes == ()
    assert msgspec.convert(found.to_dict(), PromptComparison) == found


def _rest(explanation: Explanation, found: PromptComparison, side: str) -> Iterator[str]:
    """The characters that are in no change; none is in two of them."""
    ranges = [(getattr(change, side), change) for change in found.changes]
    for number, message in enumerate(explanation.messages):
        end = 0
        here = [(one, change) for one, change in ranges if one is not None and one.message == number]
        for one, change in sorted(here, key=lambda pair: (pair[0].start, pair[0].end)):
            assert one.start >= end
            assert message.content[one.start : one.end] == (change.removed if side == "before" else change.added)
            yield from message.content[end : one.start]
            end = one.end
        yield from message.content[end:]
