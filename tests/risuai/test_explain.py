"""Where every character of RisuAI's prompts comes from."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.risuai.prompt.builders import CHAT, always, built, chat, marlow, on_start, plain
from tests.support.explaining import Names, check_change, check_same, check_whole, spans

from tavernkit import Built, User
from tavernkit.macros import Variables
from tavernkit.prompt.sources import (
    FromCard,
    FromChat,
    FromHistory,
    FromLore,
    FromMacro,
    FromPersona,
    FromPreset,
    FromRegex,
    FromTrigger,
)
from tavernkit.risuai import PromptCard, RisuResult, Story
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.regex_script import RisuRegexScript

OLD, NEW = "zeta ", "iota "
MACROS = ("{{user}}", "{{char}}", "{{random::x::y}}", "{{#if 1}} yes {{/if}}", "{{unknown::{{user}}}}", "{{", "}}")
SPEECH = (
    "tea",
    "<user>",
    "\n",
    "@@user",
    "*bows*",
    "<Thoughts>hm</Thoughts>",
    "снег",
    "😀",
    "{{#each [1] n}}x{{/each}}",
)
texts = st.lists(st.sampled_from((*MACROS, *SPEECH)), max_size=8).map(" ".join)
TEMPLATE = (
    plain("Hello {{user}}. {{persona}}"),
    PromptCard(type="persona", inner_format="P: {{slot}}"),
    PromptCard(type="description"),
    PromptCard(type="lorebook"),
    PromptCard(type="authornote", default_text="Slow."),
    CHAT,
    plain("The end.", kind="globalNote"),
)
SCRIPT = RisuRegexScript(comment="Star", type="editprocess", pattern=r"\*(\w+)\*", replacement="_$1_ {{user}}")


@st.composite
def stories(draw: st.DrawFn) -> dict[str, Any]:
    lines = [f"{speaker}: {draw(texts)}" for speaker in draw(st.lists(st.sampled_from("ua"), max_size=5))]
    return {
        "cards": draw(st.sampled_from(((), TEMPLATE))),
        "character": {
            "description": draw(texts),
            "personality": draw(texts),
            "example_message": f"<START>\n{{{{user}}}}: {draw(texts)}\n{{{{char}}}}: {draw(texts)}",
            "replace_global_note": draw(st.sampled_from(("", "{{original}} Kindly."))),
            "lore": (always(draw(texts), comment="Fog"), LoreEntry(content=draw(texts), key="tea")),
            "scripts": (SCRIPT,),
        },
        "note": draw(st.sampled_from(("", "Softly, {{user}}."))),
        "persona": draw(texts),
        "history": lines,
        "message": draw(st.sampled_from(("", "More tea?"))),
        "settings": {
            "model": draw(st.sampled_from(("gpt4o", "custom"))),
            "jailbreak_on": True,
            "jailbreak": "JB",
            "global_note": "GN {{char}}",
        },
    }


def made(story: dict[str, Any], *, trace: bool, **changes: Any) -> Built[RisuResult]:
    given = {**story, **changes}
    return built(
        *given["cards"],
        character=marlow(**given["character"]),
        story=Story(note=given["note"]),
        settings=given["settings"],
        user=User(name="Tess", persona=given["persona"]),
        history=chat(*given["history"]),
        message=given["message"],
        rng=random.Random(5),
        variables=Variables(),
        trace=trace,
    )


@given(stories())
def test_a_traced_build_is_the_same_build(story: dict[str, Any]) -> None:
    check_same(made(story, trace=False), made(story, trace=True))


@given(stories())
def test_every_character_has_a_source(story: dict[str, Any]) -> None:
    traced = made(story, trace=True)
    check_whole(traced)
    assert Built.decode(traced.encode(), RisuResult).explain() == traced.explain()


@settings(max_examples=60)
@given(stories(), st.sampled_from(("persona", "description", "personality", "lore", "message", "note")))
def test_a_changed_source_changes_only_spans_that_name_it(story: dict[str, Any], kind: str) -> None:
    def with_word(word: str) -> Built[RisuResult]:
        character = story["character"]
        match kind:
            case "persona" | "note":
                return made(story, trace=True, **{kind: word + story[kind]})
            case "lore":
                lore = (*character["lore"], always(f"{word} lies, {{{{user}}}}.", id="changed"))
                return made(story, trace=True, character={**character, "lore": lore})
            case "message":
                return made(story, trace=True, history=[*story["history"], f"u: {word} {{{{char}}}}"], message="")
            case _:
                return made(story, trace=True, character={**character, kind: word + character[kind]})

    named: dict[str, Names] = {
        "persona": lambda source: isinstance(source, FromPersona),
        "note": lambda source: isinstance(source, FromChat),
        "lore": lambda source: isinstance(source, FromLore) and source.entry == "changed",
        "message": lambda source: isinstance(source, FromHistory) and source.message == len(story["history"]),
    }
    names = named.get(kind, lambda source: isinstance(source, FromCard) and source.field == kind)
    check_change(with_word(OLD), with_word(NEW), names)


def explained(*cards: PromptCard, **inputs: Any) -> list[tuple[str, Any]]:
    return [(span.text, span.source) for span in spans(built(*cards, trace=True, **inputs).explain())]


def test_each_kind_of_source_is_named() -> None:
    found = explained(
        plain("Be {{char}}: {{description}}", name="Main"),
        PromptCard(type="lorebook"),
        CHAT,
        character=marlow(
            scripts=(SCRIPT,), lore=(LoreEntry(content="Tea is dear.", key="tea", comment="Tea", id="t"),)
        ),
        story=Story(greeting=None),
        history=chat("a: *Tea* is hot."),
    )
    main = FromPreset(prompt="card:0:plain", name="Main")
    said = FromHistory(message=0)
    rule = FromRegex(script="Star", inside=said)
    told = FromMacro(name="description", inside=main)
    assert ("Be ", main) in found
    assert (" tends the light.", FromCard(character="Marlow", field="description", through=(told,))) in found
    assert ("Tea", said.with_(through=(rule,))) in found
    assert ("_", rule) in found
    assert ("Tess", FromMacro(name="user", inside=rule)) in found
    (lore,) = [source for text, source in found if text == "Tea is dear."]
    assert (lore.entry, lore.cause, lore.key, lore.found.message, lore.found.offset) == ("t", "key", "tea", 0, 1)


def test_what_a_trigger_says_is_the_triggers() -> None:
    start = on_start({"type": "systemprompt", "location": "promptend", "value": "Hurry."})
    found = explained(CHAT, PromptCard(type="postEverything"), character=marlow(triggers=(start,)))
    assert ("Hurry.", FromTrigger(place="promptend")) in found
