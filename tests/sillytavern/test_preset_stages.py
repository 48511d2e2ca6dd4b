"""What a preset, a card and lore put into a chat prompt, and where."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.stories.builders import ADA, WREN, book, custom, entry, group, order, preset, said, tell

from tavernkit import (
    BuildHooks,
    Character,
    Injection,
    Injections,
    StrictModeError,
    TokenBudgetExceeded,
    User,
)
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Attachment, Message
from tavernkit.sillytavern import (
    AuthorsNote,
    BiasEntry,
    CharacterNote,
    ExtensionPrompt,
    NotePlacement,
    PersonaPlace,
    PersonaPosition,
    Story,
    UserSettings,
)
from tavernkit.sillytavern.errors import UnknownMacroError
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt

MAIN, PERSONA, CARD, NEW = "system: Main.", "system: Ada mends clocks.", "system: Wren sells tea.", "system: [New]"
TALK = ("Wren: Tea?", "Ada: Yes.", "Wren: Sugar?", "Ada: No.")
SAID = ["assistant: Tea?", "user: Yes.", "assistant: Sugar?", "user: No."]


def with_note(**fields: Any) -> Story:
    return Story(note=AuthorsNote(**{"text": "Note.", "depth": 0, **fields}))


def with_settings(**fields: Any) -> Story:
    return Story(settings=UserSettings(**fields))


class TestPromptManager:
    def test_a_prompt_is_its_parts_in_the_usual_order(self) -> None:
        character = WREN.with_(personality="Kind.", scenario="Dusk.", mes_example="<START>\nAda: Hm?\nWren: Ha!")
        plan = tell(*TALK, character=character, preset=preset(jailbreak="After."))
        assert said(plan) == [
            MAIN,
            PERSONA,
            CARD,
            "system: Kind.",
            "system: Dusk.",
            "system: [Example]",
            "system (example_user): Hm?",
            "system (example_assistant): Ha!",
            NEW,
            *SAID,
            "system: After.",
        ]

    def test_the_order_for_all_characters_counts_wherever_it_stands(self) -> None:
        orders = (order("chatHistory", "main", character_id=100000), order("main", "chatHistory", character_id=100001))
        plan = tell(*TALK, preset=preset(prompt_order=orders), user=User(name="Ada"), character=Character(name="Wren"))
        assert said(plan) == [MAIN, NEW, *SAID]

    def test_a_preset_without_an_order_for_all_characters_gets_the_default_order(self) -> None:
        orders = (order("chatHistory", "main", character_id=100000), order("chatHistory", character_id=7))
        plan = tell(*TALK, preset=preset(prompt_order=orders), user=User(name="Ada"), character=Character(name="Wren"))
        assert said(plan) == [MAIN, NEW, *SAID]

    def test_a_preset_without_anything_still_builds_a_prompt(self) -> None:
        plan = tell(*TALK, preset=ChatPreset(new_chat_prompt="[New]"))
        assert said(plan)[1:] == [PERSONA, CARD, NEW, *SAID]
        assert "Wren" in said(plan)[0]

    def test_a_disabled_prompt_vanishes(self) -> None:
        plan = tell(*TALK, preset=preset(custom("extra", "Extra."), off=("extra",)))
        assert "system: Extra." not in said(plan)

    def test_a_disabled_main_prompt_still_marks_the_place_of_the_note(self) -> None:
        plan = tell(*TALK, preset=preset(off=("main",)), story=with_note(position="after"))
        assert said(plan)[:2] == ["system: Note.", PERSONA]

    def test_so_does_one_for_another_kind_of_generation_where_the_cards_own_text_is_put(self) -> None:
        elsewhere = preset(own={"main": {"injection_trigger": ("swipe",)}})
        character = WREN.with_(system_prompt="Be kind.")
        plan = tell(*TALK, preset=elsewhere, character=character, story=with_note(position="after"))
        assert said(plan)[:3] == ["system: Be kind.", "system: Note.", PERSONA]

    def test_markers_that_the_order_lacks_are_appended(self) -> None:
        plan = tell(*TALK, preset=preset(prompt_order=(order("main", "chatHistory"),)))
        assert said(plan) == [MAIN, NEW, *SAID, CARD, PERSONA]

    def test_without_a_place_for_the_chat_it_is_not_sent(self) -> None:
        plan = tell(*TALK, preset=preset(prompt_order=(order("main", "charDescription", "personaDescription"),)))
        assert said(plan) == [MAIN, CARD, PERSONA]

    @pytest.mark.parametrize(("generation_type", "is_sent"), [("normal", False), ("swipe", True), ("quiet", False)])
    def test_a_trigger_limits_a_prompt_to_kinds_of_generation(self, generation_type: str, is_sent: bool) -> None:
        extra = custom("extra", "Extra.", injection_trigger=("swipe", "regenerate"))
        plan = tell(*TALK, preset=preset(extra), generation_type=generation_type)
        assert ("system: Extra." in said(plan)) is is_sent

    def test_an_empty_prompt_is_skipped_and_a_blank_one_is_not(self) -> None:
        plan = tell(*TALK, preset=preset(custom("empty", ""), custom("blank", "  ")))
        assert said(plan)[:3] == [MAIN, "system:   ", PERSONA]

    def test_a_marker_has_the_role_that_the_preset_gives_it(self) -> None:
        plan = tell(*TALK, preset=preset(own={"charDescription": {"role": "user"}}))
        assert "user: Wren sells tea." in said(plan)

    def test_a_marker_can_stand_in_the_chat(self) -> None:
        place = {"charDescription": {"injection_position": 1, "injection_depth": 1}}
        plan = tell(*TALK, preset=preset(own=place))
        assert said(plan) == [MAIN, PERSONA, NEW, *SAID[:3], CARD, SAID[3]]

    def test_the_first_of_two_prompts_with_one_identifier_counts(self) -> None:
        twice = (custom("extra", "First."), PresetPrompt(identifier="extra", content="Second."))
        changed = preset(twice[0])
        plan = tell(*TALK, preset=changed.with_(prompts=(*changed.prompts, twice[1])))
        assert said(plan)[1] == "system: First."


class TestOverrides:
    def test_the_cards_main_prompt_takes_the_place_of_the_presets(self) -> None:
        assert said(tell(character=WREN.with_(system_prompt="Be {{char}}.")))[0] == "system: Be Wren."

    def test_original_is_what_stood_there(self) -> None:
        character = WREN.with_(system_prompt="{{original}} And tea.", post_history_instructions="First: {{original}}")
        plan = tell(character=character, preset=preset(jailbreak="After {{user}}."))
        assert said(plan)[0] == "system: Main. And tea."
        assert said(plan)[-1] == "system: First: After Ada."

    @pytest.mark.parametrize(
        ("given", "story"),
        [
            ({"own": {"main": {"forbid_overrides": True}}}, Story()),
            ({}, with_settings(prefer_character_prompt=False)),
        ],
    )
    def test_a_preset_or_a_user_can_refuse_them(self, given: dict[str, Any], story: Story) -> None:
        plan = tell(character=WREN.with_(system_prompt="Be Wren."), preset=preset(**given), story=story)
        assert said(plan)[0] == MAIN

    def test_a_disabled_main_prompt_is_not_overridden(self) -> None:
        plan = tell(character=WREN.with_(system_prompt="Be Wren."), preset=preset(off=("main",)))
        assert said(plan)[0] == PERSONA

    def test_a_chat_may_have_its_own_scenario_and_examples(self) -> None:
        character = WREN.with_(scenario="Dusk.", mes_example="<START>\nWren: Ha!")
        plan = tell(character=character, story=Story(scenario="Dawn.", examples="<START>\nWren: Ho!"))
        assert said(plan)[3:6] == ["system: Dawn.", "system: [Example]", "system (example_assistant): Ho!"]


class TestFormats:
    def test_formats_stand_around_what_they_mention(self) -> None:
        formats = preset(personality_format="P({{personality}})", scenario_format="S({{scenario}})")
        plan = tell(character=WREN.with_(personality="Kind.", scenario="Dusk."), preset=formats)
        assert said(plan)[3:5] == ["system: P(Kind.)", "system: S(Dusk.)"]

    def test_without_a_text_there_is_no_format_either(self) -> None:
        plan = tell(preset=preset(personality_format="P({{personality}})", scenario_format="S({{scenario}})"))
        assert said(plan) == [MAIN, PERSONA, CARD, NEW]

    def test_lore_is_put_into_its_format(self) -> None:
        plan = tell(books=[book(entry("Rain."), entry("Wind.", position=1))], preset=preset(wi_format="[{0}]"))
        assert said(plan) == [MAIN, "system: [Rain.]", PERSONA, CARD, "system: [Wind.]", NEW]

    def test_a_blank_format_leaves_lore_as_it_is(self) -> None:
        assert "system: Rain." in said(tell(books=[book(entry("Rain."))], preset=preset(wi_format=" ")))


class TestInChat:
    def test_depth_counts_from_the_end(self) -> None:
        prompts = [custom(f"at-{depth}", f"At {depth}.", injection_depth=depth) for depth in (0, 1, 3)]
        assert said(tell(*TALK, preset=preset(*prompts)))[3:] == [
            NEW,
            SAID[0],
            "system: At 3.",
            *SAID[1:3],
            "system: At 1.",
            SAID[3],
            "system: At 0.",
        ]

    def test_deeper_than_the_chat_is_its_beginning(self) -> None:
        plan = tell(*TALK, preset=preset(custom("deep", "Deep.", injection_depth=99)))
        assert said(plan)[3:] == [NEW, "system: Deep.", *SAID]

    def test_at_one_depth_stand_assistant_then_user_then_system(self) -> None:
        prompts = [custom(role, "Here.", injection_depth=0, role=role) for role in ("system", "assistant", "user")]
        plan = tell(*TALK, preset=preset(*prompts))
        assert said(plan)[-3:] == ["assistant: Here.", "user: Here.", "system: Here."]

    def test_a_higher_order_is_nearer_to_the_end(self) -> None:
        prompts = [
            custom(f"by-{number}", f"Order {number}.", injection_depth=0, injection_order=number)
            for number in (100, 7, 200)
        ]
        plan = tell(*TALK, preset=preset(*prompts))
        assert said(plan)[-3:] == ["system: Order 7.", "system: Order 100.", "system: Order 200."]

    def test_what_shares_depth_order_and_role_is_one_message(self) -> None:
        prompts = [custom(name, f"{name}.", injection_depth=1) for name in ("One", "Two")]
        plan = tell(*TALK, preset=preset(*prompts))
        assert said(plan)[-2] == "system: One.\nTwo."
        assert plan.enabled_blocks[-2].metadata["parts"] == ["One", "Two"]

    def test_extension_prompts_join_order_100_behind_the_presets_by_key(self) -> None:
        prompts = [
            custom("own", "Own.", injection_depth=0),
            custom("late", "Late.", injection_depth=0, injection_order=101),
            custom("early", "Early.", injection_depth=0, injection_order=99),
        ]
        extensions = tuple(ExtensionPrompt(key=key, content=f"{key}.", position="chat") for key in ("b", "a"))
        plan = tell(*TALK, preset=preset(*prompts), story=Story(extension_prompts=extensions))
        assert said(plan)[-3:] == ["system: Early.", "system: Own.\na.\nb.", "system: Late."]

    def test_extension_prompts_stand_around_the_main_prompt(self) -> None:
        extensions = (
            ExtensionPrompt(key="1_memory", content="Summary.", position="before"),
            ExtensionPrompt(key="mine", content="Mine.", position="after", role="user"),
            ExtensionPrompt(key="nowhere", content="Nowhere."),
        )
        plan = tell(*TALK, story=Story(extension_prompts=extensions))
        assert said(plan)[:4] == ["system: Summary.", MAIN, "user: Mine.", PERSONA]
        assert "system: Nowhere." not in said(plan)


class TestAuthorsNote:
    @pytest.mark.parametrize(
        ("interval", "messages", "is_due"),
        [
            (1, 1, True),
            (1, 0, True),
            (2, 0, False),
            (2, 1, False),
            (2, 2, True),
            (3, 2, False),
            (3, 6, True),
            (0, 4, False),
        ],
    )
    def test_it_comes_every_so_many_messages_of_the_user(self, interval: int, messages: int, is_due: bool) -> None:
        plan = tell("Wren: Tea?", *["Ada: Yes."] * messages, story=with_note(interval=interval))
        assert ("system: Note." in said(plan)) is is_due

    def test_the_message_being_sent_counts(self) -> None:
        plan = tell("Wren: Tea?", "Ada: Yes.", "Wren: Now?", message="Now.", story=with_note(interval=2))
        assert said(plan)[-1] == "system: Note."

    @pytest.mark.parametrize(
        ("position", "expected"),
        [
            ("before", ["system: Note.", MAIN, PERSONA, CARD, NEW, *SAID]),
            ("after", [MAIN, "system: Note.", PERSONA, CARD, NEW, *SAID]),
            ("chat", [MAIN, PERSONA, CARD, NEW, *SAID[:2], "system: Note.", *SAID[2:]]),
            ("none", [MAIN, PERSONA, CARD, NEW, *SAID]),
        ],
    )
    def test_it_stands_where_it_was_put(self, position: str, expected: list[str]) -> None:
        assert said(tell(*TALK, story=with_note(position=position, depth=2))) == expected

    def test_it_has_a_role(self) -> None:
        assert said(tell(*TALK, story=with_note(role="assistant")))[-1] == "assistant: Note."

    @pytest.mark.parametrize(
        ("placement", "expected"),
        [
            (NotePlacement.REPLACE, "Own."),
            (NotePlacement.BEFORE, "Own.\nNote."),
            (NotePlacement.AFTER, "Note.\nOwn."),
        ],
    )
    def test_a_character_may_bring_a_note_along(self, placement: NotePlacement, expected: str) -> None:
        story = with_note().with_(character_note=CharacterNote(text="Own.", placement=placement))
        assert said(tell(*TALK, story=story))[-1] == f"system: {expected}"

    def test_lore_stands_around_it(self) -> None:
        lore = book(entry("Above.", position=2), entry("Below.", position=3))
        assert said(tell(*TALK, books=[lore], story=with_note()))[-1] == "system: Above.\nNote.\nBelow."

    def test_lore_around_an_empty_note_is_sent_all_the_same(self) -> None:
        lore = book(entry("Above.", position=2), entry("Below.", position=3))
        plan = tell(*TALK, books=[lore], story=with_note(text=""))
        assert said(plan)[-1].split("\n")[0] == "system: Above."
        assert said(plan)[-1].split("\n")[-1] == "Below."

    def test_lore_around_it_vanishes_with_it(self) -> None:
        lore = book(entry("Above.", position=2), entry("Below.", position=3))
        assert said(tell(*TALK, books=[lore], story=with_note(interval=3))) == [MAIN, PERSONA, CARD, NEW, *SAID]


class TestPersona:
    @pytest.mark.parametrize(
        ("position", "expected"),
        [
            (PersonaPosition.IN_PROMPT, [MAIN, PERSONA, CARD, NEW, *SAID, "system: Note."]),
            (PersonaPosition.TOP_OF_NOTE, [MAIN, CARD, NEW, *SAID, "system: Ada mends clocks.\nNote."]),
            (PersonaPosition.BOTTOM_OF_NOTE, [MAIN, CARD, NEW, *SAID, "system: Note.\nAda mends clocks."]),
            (
                PersonaPosition.AT_DEPTH,
                [MAIN, CARD, NEW, *SAID[:3], "user: Ada mends clocks.", SAID[3], "system: Note."],
            ),
            (PersonaPosition.NONE, [MAIN, CARD, NEW, *SAID, "system: Note."]),
        ],
    )
    def test_it_has_five_positions(self, position: PersonaPosition, expected: list[str]) -> None:
        story = with_note().with_(persona=PersonaPlace(position=position, depth=1, role="user"))
        assert said(tell(*TALK, story=story)) == expected

    @pytest.mark.parametrize("position", [PersonaPosition.TOP_OF_NOTE, PersonaPosition.BOTTOM_OF_NOTE])
    def test_around_the_note_it_is_there_only_when_the_note_is_due(self, position: PersonaPosition) -> None:
        story = with_note(interval=5).with_(persona=PersonaPlace(position=position))
        assert said(tell(*TALK, story=story)) == [MAIN, CARD, NEW, *SAID]

    def test_around_the_note_it_stands_outside_of_lore_and_wakes_none(self) -> None:
        lore = book(entry("Top.", position=2), entry("Brass.", "clocks"))
        story = with_note(scan=True).with_(persona=PersonaPlace(position=PersonaPosition.TOP_OF_NOTE))
        told = said(tell(*TALK, books=[lore], story=story))
        assert (told[-1], "system: Brass." in told) == ("system: Ada mends clocks.\nTop.\nNote.", False)

    def test_around_an_empty_note_it_is_still_there(self) -> None:
        story = with_note(text="").with_(persona=PersonaPlace(position=PersonaPosition.TOP_OF_NOTE))
        assert said(tell(*TALK, story=story))[-1].strip() == PERSONA

    def test_at_a_depth_it_wakes_lore(self) -> None:
        story = Story(persona=PersonaPlace(position=PersonaPosition.AT_DEPTH))
        assert "system: Brass." in said(tell(*TALK, books=[book(entry("Brass.", "clocks"))], story=story))

    def test_in_the_prompt_it_does_not(self) -> None:
        assert "system: Brass." not in said(tell(*TALK, books=[book(entry("Brass.", "clocks"))]))


class TestDepthPrompt:
    def test_a_card_puts_its_note_four_messages_deep(self) -> None:
        character = WREN.with_(extensions={"depth_prompt": {"prompt": "{{char}} hums."}})
        assert said(tell("Wren: Hm.", *TALK, character=character))[3:6] == [NEW, "assistant: Hm.", "system: Wren hums."]

    def test_depth_and_role_are_the_cards(self) -> None:
        character = WREN.with_(extensions={"depth_prompt": {"prompt": "Hum.", "depth": 0, "role": "user"}})
        assert said(tell(*TALK, character=character))[-1] == "user: Hum."


class TestLore:
    def test_entries_at_one_depth_and_role_are_one_message(self) -> None:
        lore = book(
            entry("Second.", position=4, depth=1, order=20),
            entry("First.", position=4, depth=1, order=10),
            entry("Apart.", position=4, depth=1, role=2),
        )
        assert said(tell(*TALK, books=[lore]))[-3:] == ["assistant: Apart.", "system: First.\nSecond.", SAID[3]]

    def test_outlets_are_filled_where_the_preset_asks_for_them(self) -> None:
        lore = book(
            entry("Low.", position=7, outletName="talk", order=10),
            entry("High.", position=7, outletName="talk", order=20),
        )
        plan = tell(*TALK, books=[lore], preset=preset(custom("talk", "They say: {{outlet::talk}}")))
        assert said(plan)[1] == "system: They say: High.\nLow."
        assert plan.outlets == {"talk": "High.\nLow."}

    def test_an_outlet_that_nobody_asks_for_is_not_sent(self) -> None:
        plan = tell(*TALK, books=[book(entry("Unsaid.", position=7, outletName="talk"))])
        assert said(plan) == [MAIN, PERSONA, CARD, NEW, *SAID]

    def test_examples_can_come_from_lore(self) -> None:
        lore = book(entry("<START>\nWren: Lo!", position=5), entry("<START>\nWren: Hi!", position=6))
        plan = tell(books=[lore], character=WREN.with_(mes_example="<START>\nWren: Ha!"))
        assert [line for line in said(plan) if "example_assistant" in line] == [
            "system (example_assistant): Lo!",
            "system (example_assistant): Ha!",
            "system (example_assistant): Hi!",
        ]

    def test_a_cards_own_book_is_read(self) -> None:
        assert "system: Rain." in said(tell(*TALK, character=WREN.with_(character_book=book(entry("Rain.", "sugar")))))

    def test_the_typed_message_wakes_lore(self) -> None:
        assert "system: Rain." in said(tell(message="An umbrella?", books=[book(entry("Rain.", "umbrella"))]))

    def test_a_hidden_message_does_not(self) -> None:
        plan = tell("*Ada: An umbrella.", *TALK, books=[book(entry("Rain.", "umbrella", scanDepth=10))])
        assert said(plan) == [MAIN, PERSONA, CARD, NEW, *SAID]


class TestExamples:
    CHARACTER = WREN.with_(mes_example="<START>\nAda: Hm?\nWren: Ha!\n<START>\nWren: Ho!")

    def test_every_dialogue_has_a_heading(self) -> None:
        assert said(tell(character=self.CHARACTER))[3:] == [
            "system: [Example]",
            "system (example_user): Hm?",
            "system (example_assistant): Ha!",
            "system: [Example]",
            "system (example_assistant): Ho!",
            NEW,
        ]

    def test_a_dialogue_is_one_bundle(self) -> None:
        bundles = [block.bundle for block in tell(character=self.CHARACTER).blocks if block.bundle]
        assert bundles == ["example:1"] * 3 + ["example:2"] * 2

    def test_a_user_may_want_none(self) -> None:
        plan = tell(character=self.CHARACTER, story=with_settings(strip_examples=True))
        assert said(plan) == [MAIN, PERSONA, CARD, NEW]

    def test_pinned_examples_are_paid_for_before_the_chat(self) -> None:
        long_talk = [f"Ada: {'Yes. ' * 20}"] * 20
        small = preset(openai_max_context=400)
        pinned = tell(*long_talk, character=self.CHARACTER, preset=small, story=with_settings(pin_examples=True))
        assert [block.enabled for block in pinned.blocks if block.bundle] == [True] * 5
        roomy = [f"Ada: {'Yes. ' * 8}"] * 40
        usual = tell(*roomy, character=self.CHARACTER, preset=small)
        assert [block.enabled for block in usual.blocks if block.bundle] == [False] * 5


class TestNames:
    @pytest.mark.parametrize(
        ("behaviour", "expected"),
        [
            (-1, ["user: Yes.", "assistant: Tea."]),
            (0, ["user: Yes.", "assistant: Tea."]),
            (1, ["user (Ada): Yes.", "assistant (Mr__Wren): Tea."]),
            (2, ["user: Ada: Yes.", "assistant: Mr. Wren: Tea."]),
        ],
    )
    def test_four_behaviours_in_a_duet(self, behaviour: int, expected: list[str]) -> None:
        plan = tell("Ada: Yes.", "Mr. Wren: Tea.", preset=preset(names_behavior=behaviour))
        assert said(plan)[-2:] == expected

    def test_in_a_group_names_are_told_unless_they_are_switched_off(self) -> None:
        story = Story(group=group(WREN, Character(name="Pip")))
        assert said(tell("Ada: Yes.", "Pip: No.", story=story))[-3:-1] == ["user: Yes.", "assistant: Pip: No."]
        none = tell("Ada: Yes.", "Pip: No.", story=story, preset=preset(names_behavior=-1))
        assert said(none)[-3:-1] == ["user: Yes.", "assistant: No."]

    def test_a_stranger_is_named_in_a_duet_too(self) -> None:
        stranger = Message(role="assistant", content="Post!", name="Postman", metadata={"force_avatar": "post.png"})
        assert said(tell(history=[stranger]))[-1] == "assistant: Postman: Post!"

    def test_a_narrator_has_no_name(self) -> None:
        assert said(tell(">It rains.", preset=preset(names_behavior=2)))[-1] == "system: It rains."

    def test_quotes_stand_around_what_the_user_says(self) -> None:
        plan = tell(*TALK, preset=preset(wrap_in_quotes=True))
        assert said(plan)[-2:] == ["assistant: Sugar?", 'user: "No."']


class TestSquash:
    def test_neighbours_among_the_systems_messages_are_joined(self) -> None:
        plan = tell(*TALK, preset=preset(squash_system_messages=True, jailbreak="After."))
        assert said(plan) == ["system: Main.\nAda mends clocks.\nWren sells tea.", NEW, *SAID, "system: After."]

    def test_what_was_joined_is_known(self) -> None:
        block = tell(*TALK, preset=preset(squash_system_messages=True)).blocks[0]
        assert block.metadata["parts"] == ["main", "personaDescription", "charDescription"]

    def test_headings_examples_and_the_group_nudge_stay_apart(self) -> None:
        character = WREN.with_(mes_example="<START>\nWren: Ha!")
        story = Story(group=group(character, Character(name="Pip")))
        plan = tell(">It rains.", preset=preset(squash_system_messages=True), character=character, story=story)
        assert said(plan)[1:] == [
            "system: [Example]",
            "system (example_assistant): Wren: Ha!",
            "system: [New group: Wren, Pip]",
            "system: Narrator: It rains.",
            "system: [As Wren.]",
        ]


class TestTheChat:
    def test_hidden_messages_stay_out(self) -> None:
        assert said(tell("Ada: Hi.", "*Ada: Psst.", "Wren: Hello."))[-2:] == ["user: Hi.", "assistant: Hello."]

    def test_macros_in_it_are_expanded(self) -> None:
        assert said(tell("Ada: I am {{user}}."))[-1] == "user: I am Ada."

    def test_macros_can_ask_about_it(self) -> None:
        plan = tell(*TALK, preset=preset(main="{{lastCharMessage}} / {{lastUserMessage}} / {{lastMessageId}}"))
        assert said(plan)[0] == "system: Sugar? / No. / 3"

    def test_an_empty_chat_comes_with_a_greeting(self) -> None:
        assert tell(character=WREN.with_(first_mes="Hello, {{user}}!")).greeting == "Hello, Ada!"
        assert tell(*TALK).greeting is None

    def test_tools_pass_through_as_messages(self) -> None:
        calls = [{"id": "c1", "type": "function", "function": {"name": "brew", "arguments": "{}"}}]
        history = [
            Message(role="user", content="Brew."),
            Message(role="assistant", metadata={"tool_calls": calls}),
            Message(role="tool", content="Brewed.", metadata={"tool_call_id": "c1"}),
        ]
        sent = tell(history=history).to_messages("openai")
        assert isinstance(sent, list)
        assert sent[-2:] == [
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "Brewed.", "tool_call_id": "c1"},
        ]

    def test_pictures_go_along_unless_the_preset_says_no(self) -> None:
        history = [Message(role="user", content="Look.", attachments=(Attachment(data=b"png"),))]
        assert tell(history=history).messages[-1].attachments[0].detail == "auto"
        assert tell(history=history, preset=preset(media_inlining=False)).messages[-1].attachments == ()


class TestInjections:
    def test_a_program_puts_text_into_a_prompt_by_name(self) -> None:
        registry = Injections(
            Injection(id="b", content="Before.", position="before"),
            Injection(id="a", content="After.", position="after"),
            Injection(id="c", content="In.", depth=1, role="user"),
        )
        plan = tell(*TALK, injections=registry)
        assert said(plan) == [
            "system: Before.",
            MAIN,
            "system: After.",
            PERSONA,
            CARD,
            NEW,
            *SAID[:3],
            "user: In.",
            SAID[3],
        ]

    def test_text_that_is_not_shown_can_wake_lore(self) -> None:
        registry = Injections(Injection(id="weather", content="umbrella", position="none", scan=True))
        plan = tell(*TALK, injections=registry, books=[book(entry("Rain.", "umbrella"))])
        assert said(plan) == [MAIN, "system: Rain.", PERSONA, CARD, NEW, *SAID]


class TestHooks:
    def test_before_a_build_they_may_supply_what_is_missing(self) -> None:
        hooks = BuildHooks()

        @hooks.before_build
        def supply(ctx: Context) -> None:
            ctx.character, ctx.user, ctx.message = WREN, ADA, "Hello."

        assert said(tell(character=None, user=None, hooks=hooks)) == [MAIN, PERSONA, CARD, NEW, "user: Hello."]

    def test_after_a_build_they_may_change_the_blocks(self) -> None:
        hooks = BuildHooks()

        @hooks.before_trimming
        def sign(ctx: Context) -> None:
            ctx.add_block(source="signature", content="Signed.")

        plan = tell(*TALK, hooks=hooks)
        assert said(plan)[-1] == "system: Signed."
        assert plan.blocks[-1].source == {"stage": "before_trimming", "id": "signature"}

    def test_what_they_add_counts_against_the_budget(self) -> None:
        hooks = BuildHooks()

        @hooks.before_trimming
        def shout(ctx: Context) -> None:
            ctx.add_block(source="shout", content="A! " * 200)

        plan = tell(*TALK, hooks=hooks, preset=preset(openai_max_context=300))
        report = plan.trim_report
        assert report is not None
        assert report.final_tokens <= report.budget_tokens
        assert [warning.code for warning in plan.warnings] == ["trimmed"]
        assert said(plan)[-1].startswith("system: A! A!")
        assert SAID[0] not in said(plan)

    def test_options_that_the_application_sets_win(self) -> None:
        hooks = BuildHooks()

        @hooks.before_build
        def decide(ctx: Context) -> None:
            ctx.llm_options["temperature"] = 0.1

        assert tell(*TALK, hooks=hooks, preset=preset(temperature=1.5)).llm_options["temperature"] == 0.1


class TestBudget:
    LONG = tuple(f"Ada: {'word ' * 20}{number}" for number in range(12))

    def test_the_newest_messages_stay(self) -> None:
        plan = tell(*self.LONG, preset=preset(openai_max_context=400))
        kept = [block.content[-2:].strip() for block in plan.enabled_blocks if block.slot == "history"]
        assert kept == [str(number) for number in range(12)][-len(kept) :]
        assert 0 < len(kept) < 12

    def test_every_eviction_is_explained(self) -> None:
        plan = tell(*self.LONG, preset=preset(openai_max_context=400))
        report = plan.trim_report
        assert report is not None
        assert {record.block_id for record in report.evictions} == {
            block.id for block in plan.blocks if not block.enabled
        }
        assert {record.reason for record in report.evictions} == {"budget_exceeded"}
        assert [warning.code for warning in plan.warnings] == ["trimmed"]

    def test_the_reply_and_its_first_tokens_are_set_aside(self) -> None:
        report = tell(preset=preset(openai_max_context=1000, openai_max_tokens=200)).trim_report
        assert report is not None
        assert report.budget_tokens == 1000 - 200 - 3

    def test_where_not_even_the_prompts_fit_what_fits_is_sent_with_a_warning(self) -> None:
        plan = tell(*TALK, character=WREN.with_(description="Tea. " * 200), preset=preset(openai_max_context=200))
        assert said(plan) == [MAIN]
        assert [warning.code for warning in plan.warnings] == ["mandatory_over_budget", "user_message_dropped"]
        assert "charDescription" in plan.warnings[0].message

    def test_a_strict_build_raises_instead(self) -> None:
        with pytest.raises(TokenBudgetExceeded, match="charDescription"):
            tell(character=WREN.with_(description="Tea. " * 200), preset=preset(openai_max_context=200), strict=True)

    def test_a_strict_build_wants_the_whole_chat(self) -> None:
        with pytest.raises(TokenBudgetExceeded):
            tell(*self.LONG, preset=preset(openai_max_context=400), strict=True)


class TestStrictness:
    def test_an_unknown_macro_stays_and_is_noted(self) -> None:
        plan = tell(preset=preset(main="A {{tea}} B"))
        assert said(plan)[0] == "system: A {{tea}} B"
        assert "tea" in plan.warnings[0].message

    def test_a_strict_build_does_not_accept_it(self) -> None:
        with pytest.raises(UnknownMacroError) as caught:
            tell(preset=preset(main="A {{tea}} B"), strict=True)
        assert caught.value.macro_name == "tea"

    def test_what_people_say_is_not_held_against_them(self) -> None:
        plan = tell("Ada: What is {{tea}}?", strict=True)
        assert said(plan)[-1] == "user: What is {{tea}}?"

    def test_stopping_strings_that_cannot_be_read_are_noted(self) -> None:
        story = with_settings(custom_stopping_strings="END")
        assert "stop" not in tell(*TALK, story=story).llm_options
        with pytest.raises(StrictModeError):
            tell(*TALK, story=story, strict=True)


class TestTheRequest:
    def test_samplers_are_carried_along(self) -> None:
        options = tell(preset=preset(temperature=0.4, top_p=0.8, top_k=20, seed=7, openai_max_tokens=50)).llm_options
        assert options["temperature"] == 0.4
        assert options["top_p"] == 0.8
        assert options["top_k"] == 20
        assert options["seed"] == 7
        assert options["max_tokens"] == 50

    def test_those_at_rest_are_left_out(self) -> None:
        assert not tell(preset=preset()).llm_options.keys() & {"top_k", "seed", "min_p", "logit_bias", "stop"}

    def test_the_model_is_the_builds_or_else_the_presets(self) -> None:
        chosen = preset(chat_completion_source="claude", claude_model="claude-x", openai_model="gpt-x")
        assert tell(preset=chosen).llm_options["model"] == "claude-x"
        assert tell(preset=chosen, model="mine").llm_options["model"] == "mine"

    def test_the_users_own_stopping_strings_are_sent(self) -> None:
        story = with_settings(custom_stopping_strings='["END", "{{user}}:"]')
        assert tell(story=story).llm_options["stop"] == ["END", "Ada:"]

    def test_a_logit_bias_is_told_by_token_numbers(self) -> None:
        biases = {"Mine": (BiasEntry(text="[15, 27]", value=-50), BiasEntry(text="[9]", value=3))}
        plan = tell(preset=preset(bias_preset_selected="Mine"), story=Story(bias_presets=biases))
        assert plan.llm_options["logit_bias"] == {"15": -50, "27": -50, "9": 3}

    def test_post_processing_is_left_to_the_dialect(self) -> None:
        plan = tell(*TALK, preset=preset(custom_prompt_post_processing="single"))
        assert len(plan.messages) == 8
        sent = plan.to_messages("openai")
        assert isinstance(sent, list)
        assert [message["role"] for message in sent] == ["user"]


class TestTheTrace:
    def test_every_stage_is_in_it(self) -> None:
        trace = tell(*TALK, trace=True).trace
        assert trace is not None
        assert [stage.name for stage in trace.stages] == [
            "hooks",
            "lore",
            "entries",
            "pinned_groups",
            "injection",
            "compilation",
            "macro_expansion",
            "plan_assembly",
            "before_trimming",
            "trimming",
        ]

    def test_every_block_says_which_of_them_made_it(self) -> None:
        plan = tell(*TALK, trace=True, preset=preset(jailbreak="After."), story=with_note())
        assert plan.trace is not None
        stages = {stage.name for stage in plan.trace.stages}
        assert all(block.source["stage"] in stages and block.source["id"] for block in plan.blocks)
