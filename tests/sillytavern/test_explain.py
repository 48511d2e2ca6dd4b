"""Where every character of SillyTavern's prompts comes from."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.artifacts.builders import wanted
from tests.sillytavern.stories.builders import book, entry, group, preset, tell, text_settings
from tests.sillytavern.test_build_properties import COUNT, NOW, Case, chat_cases, text_cases
from tests.support.explaining import Names, check_change, check_same, check_whole, spans

from tavernkit import Block, Built, Message, User, example, sillytavern
from tavernkit.artifacts import include_artifacts
from tavernkit.characters import Character
from tavernkit.hooks import BuildHooks
from tavernkit.macros import Variables
from tavernkit.prompt.context import Context
from tavernkit.prompt.sources import (
    FromArtifact,
    FromBlock,
    FromCard,
    FromChat,
    FromHistory,
    FromLore,
    FromMacro,
    FromPersona,
    FromPreset,
    FromRegex,
    FromTemplate,
    KeyFound,
)
from tavernkit.sillytavern import AuthorsNote, SillyTavernResult, Story, UserSettings
from tavernkit.sillytavern.groups import CardMode
from tavernkit.sillytavern.presets import ChatPreset, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScripts
from tavernkit.sillytavern.regex_scripts.script import RegexScript

stories = chat_cases | text_cases
OLD, NEW = "zeta ", "iota "
"""Two words that no key is in, and that cost the same."""


def made(case: Case, **changes: Any) -> Built[SillyTavernResult]:
    usual = {"estimator": COUNT, "clock": lambda: NOW, "rng": random.Random(5), "variables": Variables()}
    story = changes.pop("story", case.story)
    return sillytavern.build(story=story, **{**usual, **case.inputs, **changes})


@given(stories)
def test_a_traced_build_is_the_same_build(case: Case) -> None:
    check_same(made(case), made(case, trace=True))


@given(stories)
def test_every_character_has_a_source(case: Case) -> None:
    traced = made(case, trace=True)
    check_whole(traced)
    assert Built.decode(traced.encode(), SillyTavernResult).explain() == traced.explain()


@given(stories, st.sampled_from(("persona", "description", "personality", "scenario", "lore", "message", "note")))
def test_a_changed_source_changes_only_spans_that_name_it(case: Case, kind: str) -> None:
    def with_word(word: str) -> Built[SillyTavernResult]:
        character, user = case.inputs["character"], case.inputs["user"]
        match kind:
            case "persona":
                return made(case, trace=True, user=User(name=user.name, persona=word + user.persona))
            case "lore":
                lore = book(entry(f"{word} lies here, {{{{user}}}}.", uid=77))
                return made(case, trace=True, books=(*case.inputs["books"], lore.with_(name="Changed")))
            case "message":
                said = Message(role="user", content=f"{word} {{{{char}}}}")
                return made(case, trace=True, history=(*case.inputs["history"], said), message="")
            case "note":
                return made(case, trace=True, story=case.story.with_(note=case.story.note.with_(text=f"{word}!")))
            case _:
                changed = character.with_(**{kind: word + getattr(character, kind)})
                story = case.story
                if story.group is not None:
                    story = story.with_(group=group(changed, *(member.character for member in story.group.cast[1:])))
                return made(case, trace=True, character=changed, story=story)

    named: dict[str, Names] = {
        "persona": lambda source: isinstance(source, FromPersona),
        "lore": lambda source: isinstance(source, FromLore) and source.book == "Changed",
        "message": lambda source: isinstance(source, FromHistory) and source.message == len(case.inputs["history"]),
        "note": lambda source: isinstance(source, FromChat) and source.field == "note",
    }
    names = named.get(kind, lambda source: isinstance(source, FromCard) and source.field == kind)
    check_change(with_word(OLD), with_word(NEW), names)


def explained(**inputs: Any) -> list[tuple[str, Any]]:
    """The spans of a traced build of a small story."""
    usual: dict[str, Any] = {
        "character": Character(name="Wren", description="{{char}} mends clocks."),
        "user": User(name="Ada", persona="A baker."),
        "preset": preset(main="Be {{char}}, {{random::kind}}."),
        "trace": True,
    }
    return [(span.text, span.source) for span in spans(sillytavern.build(**{**usual, **inputs}).explain())]


def test_each_kind_of_source_is_named() -> None:
    star = RegexScript(
        id="s", scriptName="Star", findRegex="/\\*(\\w+)\\*/g", replaceString="_$1_", placement=(1, 2), promptOnly=True
    )
    found = explained(
        history=[Message(role="assistant", content="The *tea* is hot.", metadata={"swipe_id": 2})],
        message="More tea?",
        books=[book(entry("Tea is dear, {{user}}.", "tea", uid=4, comment="Tea"))],
        story=Story(note=AuthorsNote(text="Slowly."), regex_scripts=RegexScripts(global_=(star,))),
    )
    main, said = FromPreset(prompt="main"), FromHistory(message=0, swipe=2)
    tea = FromLore(book="Town", entry="4", name="Tea", cause="key", key="tea", found=KeyFound(message=1, offset=5))
    rule = FromRegex(script="Star", inside=said)
    for expected in (
        ("Be ", main),
        ("Wren", FromMacro(name="char", inside=main)),
        ("kind", FromMacro(name="random", arguments=("kind",), inside=main)),
        (" mends clocks.", FromCard(character="Wren", field="description")),
        ("A baker.", FromPersona(user="Ada")),
        ("Tea is dear, ", tea),
        ("Ada", FromMacro(name="user", inside=tea)),
        ("Slowly.", FromChat(field="note")),
        ("The ", said),
        ("_", rule),
        ("tea", said.with_(through=(rule,))),
        ("More tea?", FromHistory(message=1)),
    ):
        assert expected in found


def test_what_a_macro_lets_through_keeps_its_source() -> None:
    found = explained(preset=preset(main="{{if persona}}Know: {{persona}}{{/if}} {{reverse::{{user}}}}"))
    main = FromPreset(prompt="main")
    chosen = FromMacro(name="if", arguments=("persona",), inside=main)
    told = FromMacro(name="persona", inside=main)
    assert ("Know: ", main.with_(through=(chosen,))) in found
    assert ("A baker.", FromPersona(user="Ada", through=(told, chosen))) in found
    name = FromMacro(name="user", inside=main)
    assert ("adA", FromMacro(name="reverse", arguments=("Ada",), inside=main, of=(name,))) in found


def test_an_entry_that_another_one_calls_says_which() -> None:
    lore = book(entry("A tower.", "rook", uid=1), entry("The rook is old.", uid=2, preventRecursion=False))
    (source,) = {source for text, source in explained(books=[lore]) if text == "A tower."}
    assert (source.cause, source.found) == ("recursion", KeyFound(entry="2", book="Town"))


def test_the_templates_of_a_text_completion_are_named() -> None:
    found = explained(preset=TextPreset(), story=Story(settings=text_settings(with_instruct=True)), message="Tea?")
    assert ("<U>", FromTemplate(what="instruct.input_sequence")) in found
    inside = FromTemplate(what="context.story_string")
    told = FromMacro(name="persona", inside=inside)
    assert ("A baker.", FromPersona(user="Ada", through=(told,))) in found


def test_the_cards_that_a_group_joins_are_told_apart() -> None:
    wren, pip = Character(name="Wren", description="Old."), Character(name="Pip", description="Nine.")
    cast = group(wren, pip, mode=CardMode.APPEND).with_(join_prefix="<{{char}} <FIELDNAME>>")
    found = explained(character=wren, story=Story(group=cast))
    assert ("Nine.", FromCard(character="Pip", field="description")) in found
    assert ("Pip", FromMacro(name="char", inside=FromTemplate(what="group.join_prefix"))) in found


def test_what_hooks_add_is_known_by_its_block_and_what_they_keep_by_its_source() -> None:
    hooks = BuildHooks()

    def sign(ctx: Context) -> None:
        ctx.blocks = [
            block.with_(content=f"{block.content} Signed.") if block.slot == "charDescription" else block
            for block in ctx.blocks
        ]
        ctx.add_block(source="mine", content="Mine.")

    hooks.before_trimming(sign)
    found = explained(hooks=hooks)
    assert (" mends clocks.", FromCard(character="Wren", field="description")) in found
    assert (" Signed.", FromBlock(stage="compilation", id="charDescription")) in found
    assert ("Mine.", FromBlock(stage="before_trimming", id="mine")) in found


@pytest.mark.parametrize("preset", [ChatPreset(), TextPreset()])
def test_artifacts_are_named_with_their_version(preset: Any) -> None:
    hooks = BuildHooks()
    hooks.before_trimming(include_artifacts([wanted("weather", "RAIN")]))
    story = Story(settings=text_settings())
    (source,) = {source for text, source in explained(preset=preset, hooks=hooks, story=story) if "RAIN" in text}
    assert isinstance(source, FromArtifact)
    assert source.version == 1


def test_a_build_that_was_not_traced_knows_its_blocks_and_its_lore() -> None:
    built = sillytavern.build(character=example.character(), user=example.user(), history=example.history())
    explanation = built.explain()
    assert {source.kind for source in (span.source for span in spans(explanation))} == {"block", "lore"}
    assert 0 < explanation.coverage.share < 1


@pytest.mark.parametrize("engine", ["legacy", "1.15", "1.19"])
def test_all_macro_engines_can_be_followed(engine: Any) -> None:
    story = Story(macros=engine, settings=UserSettings())
    found = explained(story=story, preset=preset(main="Be {{char}} for {{user}} today."))
    main = FromPreset(prompt="main")
    assert ("Be ", main) in found
    assert ("Ada", FromMacro(name="user", inside=main)) in found


def test_blocks_of_an_untraced_build_carry_nothing() -> None:
    assert all(block.trail == () for block in tell("u: Hi.").blocks)
    assert all(isinstance(block, Block) for block in tell("u: Hi.").blocks)
