"""A warning about a macro says where the macro stands, and is given once."""

from typing import Any

import pytest

from tavernkit import Character, Injection, Injections, StrictModeError, User
from tavernkit.risuai import RisuSettings, Story, build
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.errors import CBSError, CBSStackOverflowError, CBSSyntaxError
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.settings import PromptCard

BAD = "One {{nope}} and {{nope::a}}, {{user}} {{img::face}} {{// a remark}}."


def told(character: RisuCharacter, **inputs: Any) -> list[tuple[str, object]]:
    settings = RisuSettings(
        template=(
            PromptCard(type="plain", text="{{nope}}"),
            PromptCard(type="description", inner_format="{{slot}}"),
            PromptCard(type="lorebook"),
            PromptCard(type="chat"),
        )
    )
    story = Story(character=character)
    plan = build(user=User(name="Robin"), preset=settings, story=story, message="sea {{nope}}", **inputs).plan
    assert len({warning.message for warning in plan.warnings}) == len(plan.warnings)
    return sorted((warning.code, str(warning.where["place"])) for warning in plan.warnings)


def test_macros_that_do_not_exist_are_told_once_for_each_text_and_stay() -> None:
    lore = (LoreEntry(key="sea", comment="Tides", content=BAD), LoreEntry(key="owl", comment="Owls", content=BAD))
    mira = RisuCharacter(name="Mira", description=BAD, first_message=BAD, lore=lore)
    injections = Injections(Injection(id="weather", content="{{rain}}"))
    places = ["character.description", "character.first_message", "lore entry Tides", "preset.template[0].text"]
    assert set(told(mira, injections=injections)) == {
        *(("unknown_macro", place) for place in places),
        ("unknown_macro", "injection weather"),
    }
    assert told(RisuCharacter(name="Mira", description="{{user}} {{getvar::x}}")) == [
        ("unknown_macro", "preset.template[0].text")
    ]


def test_blocks_that_cannot_be_read_are_warned_about_and_refused_by_a_strict_build() -> None:
    for text in ("{{#when::1}}never closed", "stray {{/if}}", "{{open", "{{#nonsense}}x"):
        mira = RisuCharacter(name="Mira", scenario=text)
        plan = build(user=User(name="Robin"), story=Story(character=mira), message="Hi").plan
        assert [(warning.code, warning.where["place"]) for warning in plan.warnings] == [
            ("cbs_syntax", "character.scenario")
        ]
        with pytest.raises(CBSSyntaxError, match=r"character\.scenario: .+ at character \d+") as raised:
            build(user=User(name="Robin"), story=Story(character=mira), message="Hi", strict=True)
        assert raised.value.position is not None


def test_texts_that_bring_in_too_many_others_are_warned_about_and_refused_by_a_strict_build() -> None:
    mira = Character(name="Mira", description="{{#func f}}{{call::f}}{{/func}}{{call::f}}")
    plan = build(character=mira, user=User(name="Robin")).plan
    assert [message.content for message in plan.messages] == ["ERROR: Call stack limit reached"]
    assert [(warning.code, warning.where["place"]) for warning in plan.warnings] == [
        ("cbs_stack_overflow", "character.description")
    ]
    with pytest.raises(CBSStackOverflowError, match=r"^character\.description: More than 20 texts"):
        build(character=mira, user=User(name="Robin"), strict=True)


def test_a_strict_build_names_the_text_that_costs_too_much() -> None:
    growing = "{{#func f}}" + "{{arg::1}}" * 10 + "{{/func}}" + "{{call::f::" * 15 + "y" + "}}" * 15
    mira = Character(name="Mira", description=growing)
    with pytest.raises(CBSError, match=r"^character\.description: A text costs too much"):
        build(character=mira, user=User(name="Robin"), strict=True)


def test_a_strict_build_refuses_a_macro_that_does_not_exist() -> None:
    with pytest.raises(StrictModeError, match=r"character\.description: There is no macro 'nope'") as raised:
        build(character=Character(name="Mira", description="{{nope}}"), user=User(name="Robin"), strict=True)
    assert raised.value.code == "unknown_macro"


def test_what_people_said_is_nobodys_mistake() -> None:
    history = [{"role": "assistant", "content": "{{nope}} {{open"}]
    build(character=Character(name="Mira"), user=User(name="R"), history=history, message="{{open", strict=True)


def test_messages_of_tools_are_told_of() -> None:
    history = [
        {"role": "user", "content": "The tide?"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "tide"}}]},
        {"role": "tool", "content": "High.", "tool_call_id": "1"},
    ]
    plan = build(character=Character(name="Mira"), user=User(name="Robin"), history=history).plan
    assert [(warning.code, warning.where["place"]) for warning in plan.warnings] == [
        ("tool_message", "message 2"),
        ("tool_message", "message 3"),
    ]
