"""What each kind of generation makes of the same chat."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sillytavern.stories.builders import (
    WREN,
    book,
    chat,
    custom,
    entry,
    group,
    preset,
    said,
    tell,
    text,
    text_settings,
)

from tavernkit import Character, Injection, Injections
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.sillytavern import AuthorsNote, QuietPrompt, Story
from tavernkit.sillytavern.errors import UnknownMemberError
from tavernkit.sillytavern.groups import CardMode
from tavernkit.sillytavern.presets import Instruct, SystemPrompt, TextPreset

TALK = ("Wren: Tea?", "Ada: Yes.", "Wren: Sugar?")
SAID = ["assistant: Tea?", "user: Yes.", "assistant: Sugar?"]
NEW = "system: [New]"
PIP = Character(name="Pip", description="Pip is nine.")


def sent(*lines: str, **inputs: Any) -> list[str]:
    """What is sent from the beginning of the chat on."""
    return said(tell(*lines, **inputs))[3:]


class TestNormal:
    def test_a_reply_follows_the_chat(self) -> None:
        assert sent(*TALK) == [NEW, *SAID]

    def test_the_typed_message_comes_last(self) -> None:
        assert sent(*TALK, message="No.") == [NEW, *SAID, "user: No."]


class TestSendIfEmpty:
    def test_words_are_sent_for_a_user_who_says_nothing(self) -> None:
        assert sent(*TALK, preset=preset(send_if_empty="Go on.")) == [NEW, *SAID, "user: Go on."]

    @pytest.mark.parametrize("lines", [("Ada: Yes.",), (), (">It rains.",)])
    def test_but_only_behind_a_reply(self, lines: tuple[str, ...]) -> None:
        assert "user: Go on." not in sent(*lines, preset=preset(send_if_empty="Go on."))

    def test_an_injected_reply_is_one_too(self) -> None:
        hint = custom("hint", "Hm.", injection_depth=0, role="assistant")
        assert said(tell("Ada: Yes.", preset=preset(hint, send_if_empty="Go on.")))[-2:] == [
            "assistant: Hm.",
            "user: Go on.",
        ]


class TestContinue:
    def test_the_last_message_moves_to_the_end_with_a_nudge_behind_it(self) -> None:
        plan = tell(*TALK, generation_type="continue", preset=preset(jailbreak="After."))
        assert said(plan)[3:] == [NEW, *SAID[:2], "system: After.", SAID[2], "system: [Go on.]"]

    def test_the_nudge_can_quote_it(self) -> None:
        nudge = preset(continue_nudge_prompt="[After: {{lastChatMessage}}]")
        assert sent(*TALK, generation_type="continue", preset=nudge)[-1] == "system: [After: Sugar?]"

    def test_the_quoted_words_are_trimmed_before_their_macros_are_expanded(self) -> None:
        nudge = preset(continue_nudge_prompt="[After:{{lastChatMessage}}]")
        assert (
            sent(*TALK, "Wren: {{noop}} Tea ", generation_type="continue", preset=nudge)[-1] == "system: [After: Tea]"
        )

    def test_an_empty_chat_is_gone_on_with_too_unless_nothing_would_be_put_behind_it(self) -> None:
        assert sent(generation_type="continue") == [NEW, "system: [Go on.]"]
        assert sent(generation_type="continue", preset=preset(continue_postfix="")) == [NEW]

    def test_injections_stay_where_the_chat_was(self) -> None:
        hint = custom("hint", "Hint.", injection_depth=0)
        plan = tell(*TALK, generation_type="continue", preset=preset(hint))
        assert said(plan)[-3:] == ["system: Hint.", SAID[2], "system: [Go on.]"]

    def test_a_message_of_the_user_can_be_continued(self) -> None:
        plan = tell(*TALK, "Ada: I would", generation_type="continue")
        assert said(plan)[-2:] == ["user: I would", "system: [Go on.]"]

    def test_as_a_prefill_it_is_the_last_message(self) -> None:
        prefill = preset(jailbreak="After.", continue_prefill=True)
        plan = tell(*TALK, generation_type="continue", preset=prefill)
        assert said(plan)[3:] == [NEW, *SAID[:2], "system: After.", SAID[2]]

    def test_as_a_prefill_it_leaves_the_chat_before_anything_is_injected(self) -> None:
        prefill = preset(custom("hint", "Hint.", injection_depth=1), continue_prefill=True)
        plan = tell(*TALK, generation_type="continue", preset=prefill)
        assert said(plan)[-4:] == [SAID[0], "system: Hint.", SAID[1], SAID[2]]

    def test_claude_gets_the_prefill_of_the_preset_in_front(self) -> None:
        prefill = preset(continue_prefill=True, assistant_prefill="So, {{user}}:", chat_completion_source="claude")
        plan = tell(*TALK, generation_type="continue", preset=prefill)
        assert said(plan)[-1] == "assistant: So, Ada:\n\nSugar?"
        assert "prefill" not in plan.dialect_options

    def test_continued_words_are_never_trimmed_away_for_older_ones(self) -> None:
        long_talk = [f"Ada: {'word ' * 20}"] * 12
        plan = tell(*long_talk, "Wren: And so", generation_type="continue", preset=preset(openai_max_context=300))
        assert said(plan)[-2:] == ["assistant: And so", "system: [Go on.]"]
        assert [warning.code for warning in plan.warnings] == ["trimmed"]


class TestImpersonate:
    def test_the_request_comes_last(self) -> None:
        plan = tell(*TALK, generation_type="impersonate", preset=preset(jailbreak="After."))
        assert said(plan)[-2:] == ["system: After.", "system: [As Ada.]"]

    def test_it_has_a_prefill_of_its_own(self) -> None:
        given = preset(assistant_prefill="Wren pours.", assistant_impersonation="{{user}} nods.")
        assert tell(*TALK, generation_type="impersonate", preset=given).dialect_options["prefill"] == "Ada nods."
        assert tell(*TALK, preset=given).dialect_options["prefill"] == "Wren pours."


class TestPrefill:
    def test_it_is_for_the_dialect_and_no_message(self) -> None:
        plan = tell(*TALK, "Ada: No.", preset=preset(assistant_prefill="Then"))
        assert said(plan)[-1] == "user: No."
        anthropic = plan.to_messages("anthropic")
        assert isinstance(anthropic, dict)
        assert anthropic["messages"][-1]["role"] == "assistant"
        openai = plan.to_messages("openai")
        assert isinstance(openai, list)
        assert openai[-1] == {"role": "user", "content": "No."}

    def test_nothing_is_prefilled_in_the_background(self) -> None:
        plan = tell(*TALK, generation_type="quiet", preset=preset(assistant_prefill="Then"))
        assert "prefill" not in plan.dialect_options


class TestSwipe:
    def test_the_reply_being_replaced_is_not_sent(self) -> None:
        assert sent(*TALK, generation_type="swipe") == [NEW, *SAID[:2]]

    def test_depths_count_without_it(self) -> None:
        hint = preset(custom("hint", "Hint.", injection_depth=1))
        plan = tell(*TALK, generation_type="swipe", preset=hint)
        assert said(plan)[3:] == [NEW, SAID[0], "system: Hint.", SAID[1]]


class TestRegenerate:
    def test_the_last_reply_is_dropped(self) -> None:
        assert sent(*TALK, generation_type="regenerate") == [NEW, *SAID[:2]]

    def test_a_message_of_the_user_is_not(self) -> None:
        assert sent(*TALK[:2], generation_type="regenerate") == [NEW, *SAID[:2]]

    def test_macros_do_not_see_it_any_more(self) -> None:
        plan = tell(*TALK, generation_type="regenerate", preset=preset(main="{{lastMessage}} {{lastMessageId}}"))
        assert said(plan)[0] == "system: Yes. 1"


class TestQuiet:
    STORY = Story(quiet=QuietPrompt(text="Sum up {{char}}."))

    def test_the_instruction_comes_behind_everything(self) -> None:
        plan = tell(*TALK, generation_type="quiet", story=self.STORY, preset=preset(jailbreak="After."))
        assert said(plan)[-2:] == ["system: After.", "system: Sum up Wren."]

    def test_nothing_is_streamed(self) -> None:
        assert tell(*TALK, preset=preset(stream_openai=True)).llm_options["stream"] is True
        quiet = tell(*TALK, generation_type="quiet", story=self.STORY, preset=preset(stream_openai=True))
        assert quiet.llm_options["stream"] is False

    def test_the_instruction_wakes_lore(self) -> None:
        story = Story(quiet=QuietPrompt(text="Is it raining?"))
        plan = tell(*TALK, generation_type="quiet", story=story, books=[book(entry("Rain.", "raining"))])
        assert "system: Rain." in said(plan)

    def test_lore_in_the_chat_can_be_left_out(self) -> None:
        lore = book(entry("Near.", position=4, depth=0), entry("Far."))
        story = Story(quiet=QuietPrompt(text="Sum up.", skip_depth_lore=True))
        plan = tell(*TALK, generation_type="quiet", story=story, books=[lore])
        assert "system: Far." in said(plan)
        assert "system: Near." not in said(plan)


class TestGroups:
    STORY = Story(group=group(WREN, PIP))

    def test_who_shall_speak_is_said_behind_the_chat(self) -> None:
        plan = tell("Pip: Plum?", "Ada: Yes.", story=self.STORY, preset=preset(jailbreak="After."))
        assert said(plan)[-3:] == ["user: Yes.", "system: [As Wren.]", "system: After."]

    def test_the_chat_begins_with_the_groups_line(self) -> None:
        assert "system: [New group: Wren, Pip]" in said(tell("Ada: Yes.", story=self.STORY))

    def test_no_member_is_asked_to_speak_for_the_user(self) -> None:
        plan = tell("Pip: Plum?", story=self.STORY, generation_type="impersonate")
        assert "system: [As Wren.]" not in said(plan)

    def test_a_continued_message_stands_between_the_two_nudges(self) -> None:
        plan = tell("Ada: Yes.", "Wren: And", story=self.STORY, generation_type="continue")
        assert said(plan)[-3:] == ["system: [As Wren.]", "assistant: Wren: And", "system: [Go on.]"]

    def test_words_for_a_silent_user_stand_before_the_nudge(self) -> None:
        plan = tell("Pip: Plum?", story=self.STORY, preset=preset(send_if_empty="Go on."))
        assert said(plan)[-2:] == ["user: Go on.", "system: [As Wren.]"]

    @pytest.mark.parametrize(
        ("mode", "disabled", "description"),
        [
            (CardMode.SWAP, (), "Wren sells tea."),
            (CardMode.APPEND, (), "Wren sells tea.\nPip is nine."),
            (CardMode.APPEND, ("Pip.png",), "Wren sells tea."),
            (CardMode.APPEND_DISABLED, ("Pip.png",), "Wren sells tea.\nPip is nine."),
        ],
    )
    def test_cards_are_swapped_or_joined(self, mode: CardMode, disabled: tuple[str, ...], description: str) -> None:
        story = Story(group=group(WREN, PIP, mode=mode, disabled=frozenset(disabled)))
        assert said(tell("Ada: Yes.", story=story))[2] == f"system: {description}"

    def test_the_speaker_is_the_builds_character(self) -> None:
        plan = tell("Ada: Yes.", story=self.STORY, character=PIP)
        assert said(plan)[-1] == "system: [As Pip.]"
        assert "system: Pip is nine." in said(plan)

    def test_a_stranger_cannot_speak(self) -> None:
        with pytest.raises(UnknownMemberError, match="Fenn"):
            tell("Ada: Yes.", story=self.STORY, character=Character(name="Fenn"))


def text_plan(*lines: str, story: Story | None = None, **inputs: Any) -> Plan:
    return tell(*lines, preset=TextPreset(max_length=4000, genamt=100), story=story, **inputs)


class TestTextCompletion:
    HEAD = "Main.\nWren sells tea.\nAda mends clocks.\n"
    INSTRUCT = text_settings(with_instruct=True)

    def test_a_plain_prompt_is_the_story_and_a_play(self) -> None:
        assert text(*TALK) == f"{self.HEAD}***\nWren: Tea?\nAda: Yes.\nWren: Sugar?\nWren:"

    def test_sequences_stand_around_messages(self) -> None:
        assert text(*TALK, settings=self.INSTRUCT) == f"{self.HEAD}***\n<A>\nTea?\n<U>\nYes.\n<A>\nSugar?\n<A>\n"

    def test_a_continued_message_ends_where_it_ends(self) -> None:
        prompt = text(*TALK, settings=self.INSTRUCT, generation_type="continue")
        assert prompt.endswith("<U>\nYes.\n<A>\nSugar?")

    def test_nothing_is_injected_behind_a_continued_message(self) -> None:
        hint = Injections(Injection(id="hint", content="Hint.", depth=0))
        normal = text(*TALK, settings=self.INSTRUCT, injections=hint)
        assert normal.endswith("<A>\nSugar?\n<S>\nHint.\n<A>\n")
        continued = text(*TALK, settings=self.INSTRUCT, injections=hint, generation_type="continue")
        assert continued.endswith("<U>\nYes.\n<S>\nHint.\n<A>\nSugar?")

    def test_impersonation_asks_for_the_users_line(self) -> None:
        assert text(*TALK, generation_type="impersonate").endswith("Wren: Sugar?\nAda:")
        assert text(*TALK, generation_type="impersonate", settings=self.INSTRUCT).endswith("<A>\nSugar?\n<U>\n")

    def test_a_swiped_or_regenerated_reply_is_not_sent(self) -> None:
        for kind in ("swipe", "regenerate"):
            assert text(*TALK, generation_type=kind).endswith("Ada: Yes.\nWren:")

    def test_a_background_instruction_comes_last(self) -> None:
        story = Story(quiet=QuietPrompt(text="Sum up."))
        assert text(*TALK, generation_type="quiet", story=story).endswith("Wren: Sugar?\nSum up.")
        loud = Story(quiet=QuietPrompt(text="Sum up.", loud=True))
        assert text(*TALK, generation_type="quiet", story=loud).endswith("Sum up.\nWren:")

    def test_at_one_depth_the_roles_stand_as_in_a_chat_completion(self) -> None:
        roles = ("system", "user", "assistant")
        hints = Injections(*(Injection(id=role, content=f"{role}.", depth=1, role=role) for role in roles))
        prompt = text(*TALK, settings=self.INSTRUCT, injections=hints)
        assert "<A>\nassistant.\n<U>\nuser.\n<S>\nsystem.\n<A>\nSugar?" in prompt

    def test_the_note_stands_in_the_story_or_in_the_chat(self) -> None:
        before = text(*TALK, story=Story(note=AuthorsNote(text="Note.", position="before")))
        after = text(*TALK, story=Story(note=AuthorsNote(text="Note.", position="after")))
        inside = text(*TALK, story=Story(note=AuthorsNote(text="Note.", depth=1)))
        assert before.startswith("Main.\nNote.\nWren sells tea.")
        assert after.startswith("Main.\nWren sells tea.\nAda mends clocks.\nNote.")
        assert inside.endswith("Ada: Yes.\nNote.\nWren: Sugar?\nWren:")

    def test_lore_stands_in_the_story(self) -> None:
        lore = [book(entry("Rain."), entry("Wind.", position=1))]
        assert text(*TALK, books=lore).startswith("Main.\nRain.\nWren sells tea.\nAda mends clocks.\nWind.\n")

    def test_examples_stand_before_the_chat(self) -> None:
        character = WREN.with_(mes_example="<START>\nAda: Hm?\nWren: Ha!")
        assert f"{self.HEAD}---\nAda: Hm?\nWren: Ha!\n***\n" in text(*TALK, character=character)

    def test_the_card_may_replace_the_system_prompt(self) -> None:
        assert text(character=WREN.with_(system_prompt="{{original}} Be kind.")).startswith("Main. Be kind.\n")

    def test_instructions_behind_the_chat_that_it_replaces_are_quoted_as_they_stand(self) -> None:
        character = WREN.with_(post_history_instructions="{{char}}: [{{original}}]")
        own = SystemPrompt(enabled=True, post_history="Mind {{user}}.")
        assert text(character=character, settings=text_settings(sysprompt=own)).endswith(
            "Wren: [Mind {{user}}.]\nWren:"
        )

    def test_an_injection_is_the_first_message_only_where_no_other_is_older(self) -> None:
        instruct = Instruct(enabled=True, input_sequence="<U>", output_sequence="<A>", first_output_sequence="<A1>")
        story = Story(settings=text_settings(instruct=instruct, token_padding=0))
        preset = TextPreset(max_length=30, genamt=1)
        long = f"Wren: {'word ' * 50}"

        def told(*lines: str, depth: int) -> str:
            hint = Injections(Injection(id="hint", content="Hint.", depth=depth, role="assistant"))
            return tell(*lines, "Ada: Tea?", preset=preset, story=story, injections=hint).to_messages("text")

        assert "<A1>\nHint.\n<U>\nTea?" in told(long, depth=2)
        assert "<A>\nHint.\n<U>\nTea?" in told(long, long, depth=2)
        assert "<A1>\nHint.\n<U>\nTea?" in told(long, long, depth=3)

    def test_names_and_sequences_end_a_reply(self) -> None:
        stop = text_plan(*TALK, story=Story(settings=self.INSTRUCT)).llm_options["stop"]
        assert stop == ["\nAda:", "\n<U>", "\n<A>", "\n<S>", "\n***", "\n---"]

    def test_in_a_group_the_others_names_end_it_too(self) -> None:
        story = Story(settings=text_settings(), group=group(WREN, PIP))
        assert text_plan("Pip: Plum?", story=story).llm_options["stop"][:2] == ["\nAda:", "\nPip:"]

    def test_a_reply_may_have_its_first_words_given(self) -> None:
        settings = text_settings(user_prompt_bias="Well,")
        assert text(*TALK, settings=settings).endswith("Wren: Well,")
        assert text(*TALK, settings=settings, generation_type="continue").endswith("Sugar?")

    def test_a_hidden_message_has_a_say_in_them(self) -> None:
        hidden = Message(role="user", content="", metadata={"is_system": True, "extra": {"bias": "So, {{user}}"}})
        history = [*chat(*TALK), hidden]
        assert text(history=history).endswith("Wren: Sugar?\nWren: So, Ada")
        assert text(history=history, generation_type="swipe").endswith("Ada: Yes.\nWren:")

    def test_a_hidden_message_is_the_last_one_all_the_same(self) -> None:
        history = [*chat(*TALK), Message(role="user", content="Hm.", metadata={"is_system": True})]
        assert text(history=history, generation_type="continue").endswith("Ada: Yes.\nWren: Sugar?")
        assert text_plan(history=history, generation_type="continue").llm_options["stop"][:2] == ["\nAda:", "\nWren:"]

    def test_without_room_for_an_empty_chat_no_reply_is_asked_for(self) -> None:
        plan = tell(preset=TextPreset(max_length=10, genamt=1), story=Story(settings=text_settings()))
        assert plan.to_messages("text") == f"{self.HEAD}***\n"

    def test_first_and_last_messages_may_have_sequences_of_their_own(self) -> None:
        instruct = Instruct(
            enabled=True,
            input_sequence="<U>",
            output_sequence="<A>",
            first_output_sequence="<A1>",
            last_input_sequence="<U9>",
            last_output_sequence="<A9>",
            names_behavior="none",
        )
        prompt = text(*TALK, "Ada: No.", settings=text_settings(instruct=instruct))
        assert prompt.endswith("<A1>\nTea?\n<U>\nYes.\n<A>\nSugar?\n<U9>\nNo.\n<A9>\n")

    def test_a_mandatory_part_that_is_too_large_is_noted(self) -> None:
        plan = tell(
            *TALK,
            preset=TextPreset(max_length=200, genamt=50),
            character=WREN.with_(description="Tea. " * 200),
            story=Story(settings=text_settings()),
        )
        assert [warning.code for warning in plan.warnings] == ["mandatory_over_budget", "user_message_dropped"]
        assert not [block for block in plan.enabled_blocks if block.slot == "history"]


class TestReasoning:
    @staticmethod
    def thinking() -> list[Message]:
        messages = chat(*TALK)
        return [*messages[:2], messages[2].with_(metadata={"extra": {"reasoning": "She likes it sweet."}})]

    def test_thoughts_stay_out_unless_they_are_wanted(self) -> None:
        assert sent(history=self.thinking()) == [NEW, *SAID]

    def test_thoughts_of_a_continued_reply_always_go_along(self) -> None:
        plan = tell(history=self.thinking(), generation_type="continue", preset=preset(continue_prefill=True))
        assert "She likes it sweet." in said(plan)[-1]
        assert said(plan)[-1].endswith("Sugar?")
