"""How the cards of a group come into the prompt."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.groups.builders import member

from tavernkit import Character, Message, User, Variables, sillytavern
from tavernkit.sillytavern import Story
from tavernkit.sillytavern.errors import UnknownMemberError
from tavernkit.sillytavern.groups import (
    CardMode,
    DepthPrompt,
    GroupMember,
    JoinedCard,
    StoryGroup,
    card_expander,
    group_depth_prompts,
    join_cards,
    speaker_card,
)
from tavernkit.sillytavern.macros import Environment, MacroSettings, ParserMacros
from tavernkit.sillytavern.presets import ChatPreset

MIRA = member(
    "Mira",
    description=" {{char}} keeps the lamp for {{user}}. ",
    scenario="A storm.",
    mes_example="{{char}}: Tea?",
    extensions={"depth_prompt": {"prompt": " {{char}} is tired. ", "depth": 2, "role": "user"}},
)
OSKAR = member(
    "Oskar",
    description="Mends <fieldname>.",
    mes_example="<START>\n{{char}}: Aye.",
    extensions={"depth_prompt": {"prompt": "Oskar hums."}},
)
PELL = member("Pell", description="Sings.", extensions={"depth_prompt": {"prompt": "Pell hums."}})


def group(mode: CardMode = CardMode.APPEND, **settings: Any) -> StoryGroup:
    return StoryGroup.of(MIRA, OSKAR, PELL).with_(generation_mode=mode, **settings)


def expand(text: str, name: str) -> str:
    return card_expander(ParserMacros(), Environment(user_name="Zed"))(text, name)


def joined(story: StoryGroup, speaker: str = "mira.png") -> JoinedCard:
    card = join_cards(story, speaker, expand=expand)
    assert card is not None
    return card


def test_cards_are_not_joined_where_they_are_swapped() -> None:
    assert join_cards(group(CardMode.SWAP), "mira.png", expand=expand) is None
    assert speaker_card(group(CardMode.SWAP), "mira.png", expand=expand) == JoinedCard(
        description="Mira keeps the lamp for Zed.", scenario="A storm.", mes_example="Mira: Tea?"
    )


def test_each_member_is_char_in_its_own_card() -> None:
    assert joined(group()) == JoinedCard(
        description="Mira keeps the lamp for Zed.\nMends Description.\nSings.",
        scenario="A storm.",
        mes_example="<START>\nMira: Tea?\n<START>\nOskar: Aye.",
    )
    assert speaker_card(group(), "pell.png", expand=expand) == joined(group())


def test_what_stands_around_a_text_names_the_field_and_the_member() -> None:
    card = joined(group(join_prefix="[{{char}} <FIELDNAME>] ", join_suffix=" [/]"))
    assert card.scenario == "[Mira Scenario] A storm. [/]"
    assert card.personality == ""
    assert card.mes_example.startswith("[Mira Example Messages] <START>\nMira: Tea? [/]\n[Oskar")


def test_muted_members_are_left_out_unless_they_speak_or_the_mode_keeps_them() -> None:
    muted = group(disabled=frozenset({"pell.png"}))
    assert "Sings." not in joined(muted).description
    assert "Sings." in joined(muted, "pell.png").description
    assert "Sings." in joined(muted.with_(generation_mode=CardMode.APPEND_DISABLED)).description


def test_members_who_are_not_at_hand_are_passed_over_and_who_is_there_twice_is_joined_twice() -> None:
    story = group(members=("pell.png", "ghost.png", "pell.png"))
    assert joined(story).description == "Sings.\nSings."


def test_an_override_of_the_chat_takes_the_place_of_the_join_and_char_is_the_speaker() -> None:
    story = group(scenario_override=" {{char}} is lost. ", mes_example_override="{{char}}: No.", join_prefix="> ")
    assert joined(story, "oskar.png").scenario == "Oskar is lost."
    assert joined(story, "oskar.png").mes_example == "Oskar: No."


def test_a_blank_override_is_ignored_by_a_join_and_blanks_the_field_of_a_single_card() -> None:
    assert joined(group(scenario_override="  ")).scenario == "A storm."
    assert speaker_card(group(CardMode.SWAP, scenario_override="  "), "mira.png", expand=expand).scenario == ""


def test_a_group_without_members_shows_the_speakers_own_card() -> None:
    assert join_cards(group(members=()), "pell.png", expand=expand) is None
    assert speaker_card(group(members=()), "pell.png", expand=expand).description == "Sings."


def test_a_speaker_must_be_at_hand() -> None:
    for mode in CardMode:
        with pytest.raises(UnknownMemberError, match="ghost"):
            speaker_card(group(mode), "ghost.png", expand=expand)


def test_prefix_suffix_and_text_are_expanded_in_this_order() -> None:
    seen: list[str] = []

    def note(text: str, name: str) -> str:
        seen.append(f"{name}:{text}")
        return text

    join_cards(group(members=("pell.png",), join_prefix="a", join_suffix="b"), "pell.png", expand=note)
    assert seen == ["Pell:a", "Pell:b", "Pell:Sings."]


def test_depth_prompts_of_all_members_stand_side_by_side() -> None:
    assert group_depth_prompts(group(), "mira.png", expand=expand) == (
        DepthPrompt(text="Mira is tired.", depth=2, role="user"),
        DepthPrompt(text="Oskar hums."),
        DepthPrompt(text="Pell hums."),
    )


def test_muted_members_have_a_depth_prompt_only_while_they_speak() -> None:
    story = group(CardMode.APPEND_DISABLED, disabled=frozenset({"pell.png"}), members=("pell.png",))
    assert group_depth_prompts(story, "mira.png", expand=expand) == ()
    assert group_depth_prompts(story, "pell.png", expand=expand) == (DepthPrompt(text="Pell hums."),)


def test_there_are_none_where_cards_are_swapped() -> None:
    assert group_depth_prompts(group(CardMode.SWAP), "mira.png", expand=expand) == ()


def test_card_texts_see_no_card_and_no_carriage_returns() -> None:
    settings = MacroSettings(collapse_newlines=True)
    expand_for = card_expander(ParserMacros(), Environment(user_name="Zed", settings=settings))
    assert expand_for("{{char}}{{description}}\n\n\na\rb", "Mira") == "Mira\nab"


def test_building_for_a_group_expands_each_text_of_the_speaker_once() -> None:
    speaker = Character(name="Mira", description="Visit {{incvar::visits}}")
    group = StoryGroup.of(
        GroupMember(avatar="mira.png", character=speaker), GroupMember(avatar="bo.png", character=Character(name="Bo"))
    )
    for mode in CardMode:
        variables = Variables({})
        sillytavern.build(
            story=Story(group=group.with_(generation_mode=mode), speaker="mira.png"),
            character=speaker,
            user=User(name="Ann"),
            history=[Message(role="user", content="Hello?")],
            preset=ChatPreset(),
            variables=variables,
        )
        assert variables.snapshot() == {"visits": 1}
