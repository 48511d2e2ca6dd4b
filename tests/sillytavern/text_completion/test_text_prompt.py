"""A text prompt from the story string to the last line."""

from __future__ import annotations

import pytest
from tests.sillytavern.text_completion.builders import (
    CHATML,
    MARKED,
    prompt,
    scene,
    settings,
    sources,
    text,
    turns,
)

from tavernkit.sillytavern.errors import InvalidContextTemplateError
from tavernkit.sillytavern.text_completion import assemble_text_prompt
from tavernkit.sillytavern.turns import ChatTurn

CHAT = turns("One.", "Two.", "Three.", "Four.")
PLAIN = "Mira: One.\nZed: Two.\nMira: Three.\nZed: Four."


def test_every_part_is_in_its_place_and_has_a_source():
    made = prompt(
        settings=settings(context={"chat_start": "--- {{char}}", "example_separator": "***"}),
        description="A lighthouse.",
        dialogues=("Mira: Aye.",),
        post_history="Stay calm.",
        bias="Well,",
    )
    assert made.text == (
        "A lighthouse.\n***\nMira: Aye.\n--- Mira\nMira: Hm?\nZed: Where am I?\nStay calm.\nMira: Well,"
    )
    assert sources(made) == [
        "story_string",
        "example:0",
        "chat_start",
        "message:0",
        "message:1",
        "post_history",
        "last_line",
        "bias",
    ]


class TestStoryString:
    def test_all_values_have_names(self):
        names = "system description personality scenario persona char user wiBefore loreBefore wiAfter loreAfter"
        template = "|".join(f"{{{{{name}}}}}" for name in names.split())
        made = text(
            settings=settings(context={"story_string": template}),
            system_prompt="S",
            description="D",
            personality="P",
            scenario="C",
            persona="U",
            world_info_before="B",
            world_info_after="A",
        )
        assert made.startswith("S|D|P|C|U|Mira|Zed|B|B|A|A\n")

    def test_newlines_before_it_are_dropped_and_one_stands_behind_it(self):
        assert text(settings=settings(context={"story_string": "\n\nx"})).startswith("x\nMira:")

    def test_macros_in_what_came_out_are_expanded(self):
        context = {"story_string": "{{description}}"}
        assert text(settings=settings(context=context), description="{{user}} & {{char}}").startswith("Zed & Mira\n")

    def test_its_sequences_stand_around_it(self):
        instruct = CHATML.with_(story_string_prefix="<{{name}}>", story_string_suffix="<end {{char}}>\n")
        assert text(settings=settings(instruct), description="D").startswith("<System>\nD<end Mira>\n<char>")

    def test_without_a_suffix_it_ends_its_line_only_where_sequences_are_wrapped(self):
        assert text(settings=settings(CHATML), description="D").startswith("D\n<char>")
        assert text(settings=settings(CHATML.with_(wrap=False)), description="D").startswith("D<char>")

    def test_an_empty_one_has_no_sequences(self):
        instruct = CHATML.with_(story_string_prefix="<story>", story_string_suffix="<end>")
        assert text(settings=settings(instruct)).startswith("<char>")

    def test_it_can_stand_in_the_chat(self):
        context = {"story_string_position": 1, "story_string_depth": 1, "story_string_role": 1}
        made = prompt(settings=settings(CHATML, context=context), description="D", turns=CHAT[:2])
        assert made.text == "<char>\nOne.<end>\n<user>\nD<end>\n<user>\nTwo.<end>\n<char>\n"
        assert sources(made) == ["message:0", "story_string", "message:1", "last_line"]

    def test_one_that_cannot_be_read_is_refused(self):
        with pytest.raises(InvalidContextTemplateError, match="it ends while a block is open"):
            prompt(settings=settings(context={"story_string": "{{#if x}}"}))


class TestWithoutInstruct:
    @pytest.mark.parametrize(
        ("fields", "made"),
        [
            ({}, f"{PLAIN}\nMira:"),
            ({"generation_type": "impersonate"}, f"{PLAIN}\nZed:"),
            ({"generation_type": "quiet", "quiet_prompt": "Sum up."}, f"{PLAIN}\nSum up."),
            ({"generation_type": "quiet", "quiet_prompt": "Sing.", "quiet_to_loud": True}, f"{PLAIN}\nSing.\nMira:"),
            ({"bias": " Well,"}, f"{PLAIN}\nMira: Well,"),
            ({"generation_type": "impersonate", "bias": "Well,"}, f"{PLAIN}\nZed:"),
            ({"post_history": "Be calm."}, f"{PLAIN}\nBe calm.\nMira:"),
            ({"turns": ()}, "\nMira:"),
        ],
    )
    def test_the_last_line_asks_for_the_reply(self, fields, made):
        assert text(**({"turns": CHAT} | fields)) == made

    def test_the_name_need_not_be_asked_for(self):
        unforced = settings(always_force_name2=False)
        assert text(turns=CHAT, settings=unforced) == PLAIN

    def test_words_of_one_message_force_the_name_but_standing_ones_do_not(self):
        unforced = settings(always_force_name2=False, user_prompt_bias="Hm, {{user}}")
        assert text(turns=CHAT, settings=unforced, bias="Well,") == f"{PLAIN}\nMira: Well,"
        assert text(turns=CHAT, settings=unforced, bias="Hm, Zed") == f"{PLAIN} Hm, Zed"

    def test_a_narrator_has_no_name(self):
        rain = ChatTurn(index=0, text="Rain.", name="Narrator", is_narrator=True)
        assert text(turns=(rain, CHAT[1])) == "Rain.\nZed: Two.\nMira:"

    def test_a_hidden_message_is_not_sent(self):
        assert text(turns=(CHAT[0], CHAT[1].with_(is_system=True))) == "Mira: One.\nMira:"

    def test_a_continued_message_stands_behind_the_name_that_is_asked_for(self):
        assert text(turns=CHAT[:3], generation_type="continue") == "Mira: One.\nZed: Two.\nMira:Mira: Three."

    def test_a_first_message_is_continued_as_it_is(self):
        assert text(turns=CHAT[:1], generation_type="continue") == "Mira: One."

    def test_the_users_own_message_is_continued_without_the_characters_name(self):
        assert text(turns=CHAT[:2], generation_type="continue") == "Mira: One.\nZed: Two."

    def test_a_continued_message_ends_with_its_last_occurrence(self):
        blank = ChatTurn(index=0, text="\n", name="Mira")
        assert text(turns=(blank,), generation_type="continue") == "Mira: \n\n"

    def test_instructions_behind_the_chat_come_before_a_continued_message(self):
        made = text(turns=CHAT[:3], generation_type="continue", post_history="Be calm.")
        assert made == "Mira: One.\nZed: Two.\nBe calm.\nMira:Mira: Three."


class TestInstruct:
    def write(self, instruct=CHATML, **fields):
        return text(**({"settings": settings(instruct), "turns": CHAT[:2]} | fields))

    def test_sequences_stand_around_every_message(self):
        assert self.write() == "<char>\nOne.<end>\n<user>\nTwo.<end>\n<char>\n"

    def test_unwrapped_sequences_stand_close(self):
        instruct = CHATML.with_(wrap=False, input_suffix="", output_suffix="|")
        assert self.write(instruct) == "<char>One.|<user>Two.<char>"

    def test_a_missing_suffix_is_a_newline_where_sequences_are_wrapped(self):
        instruct = CHATML.with_(input_suffix="", output_suffix="")
        assert self.write(instruct) == "<char>\nOne.\n<user>\nTwo.\n<char>\n"

    def test_a_missing_sequence_leaves_no_empty_line(self):
        assert self.write(CHATML.with_(input_sequence="")) == "<char>\nOne.<end>\nTwo.<end>\n<char>\n"

    def test_the_first_and_the_last_have_sequences_of_their_own(self):
        made = self.write(MARKED, turns=CHAT)
        assert made == (
            "<first char>\nOne.<end>\n<user>\nTwo.<end>\n<char>\nThree.<end>\n<last user>\nFour.<end>\n<last char>\n"
        )
        assert self.write(MARKED, turns=CHAT[1:3]).startswith("<last user>\nTwo.")

    def test_an_impersonation_ends_with_the_ordinary_input_sequence(self):
        assert self.write(MARKED, generation_type="impersonate").endswith("<last user>\nTwo.<end>\n<user>\n")

    @pytest.mark.parametrize(
        ("fields", "end"),
        [
            ({"quiet_to_loud": False}, "<sys>\nSum up.<end>\n<last sys>\n"),
            ({"quiet_to_loud": True}, "<sys>\nSum up.<end>\n<last char>\n"),
        ],
    )
    def test_a_quiet_instruction_is_the_systems(self, fields, end):
        made = self.write(MARKED, generation_type="quiet", quiet_prompt="Sum up.", **fields)
        assert made == f"<first char>\nOne.<end>\n<last user>\nTwo.<end>\n{end}"

    def test_who_answers_a_quiet_instruction_can_be_named(self):
        instruct = CHATML.with_(last_system_sequence="<{{name}}>")
        given = {"generation_type": "quiet", "quiet_prompt": "Sum up."}
        assert self.write(instruct, **given).endswith("<System>\n")
        assert self.write(instruct, **given, quiet_name="Scribe").endswith("<Scribe>\n")

    def test_the_system_can_speak_as_the_user_does(self):
        rain = ChatTurn(index=0, text="Rain.", name="Narrator", is_narrator=True)
        assert self.write(turns=(rain,)) == "<sys>\nRain.<end>\n<char>\n"
        assert self.write(CHATML.with_(system_same_as_user=True), turns=(rain,)) == "<user>\nRain.<end>\n<char>\n"

    def test_names_are_told_always_or_never(self):
        always = self.write(CHATML.with_(names_behavior="always"))
        assert always == "<char>\nMira: One.<end>\n<user>\nZed: Two.<end>\n<char>\nMira:"
        assert "Mira" not in self.write(CHATML.with_(names_behavior="none"), group=("Mira", "Oskar"))

    def test_names_are_told_where_they_are_needed(self):
        strange = CHAT[0].with_(name="Oskar", force_avatar=True)
        assert self.write(turns=(strange, CHAT[1])).startswith("<char>\nOskar: One.<end>\n<user>\nTwo.")
        in_group = self.write(group=("Mira", "Oskar"))
        assert in_group == "<char>\nMira: One.<end>\n<user>\nTwo.<end>\n<char>\nMira:"

    def test_a_space_that_the_last_sequence_lacks_is_put_before_the_name(self):
        instruct = CHATML.with_(
            wrap=False, names_behavior="always", output_sequence="<char> ", last_output_sequence="<last>"
        )
        assert self.write(instruct).endswith("<last> Mira:")

    def test_words_of_the_reply_stand_behind_its_sequence(self):
        assert self.write(bias=" Well, ").endswith("<char>\nWell,\n")
        assert self.write(CHATML.with_(names_behavior="always"), bias=" Well,").endswith("<char>\nMira: Well,")
        assert self.write(CHATML.with_(wrap=False), bias=" Well, ").endswith("<char>Well, ")

    def test_blank_words_of_the_reply_are_none(self):
        assert self.write(bias=" ") == self.write()

    def test_macros_and_the_name_are_filled_in(self):
        instruct = CHATML.with_(input_sequence="<{{NAME}} to {{char}}>", output_suffix="<end {{name}}>\n")
        assert self.write(instruct) == "<char>\nOne.<end Mira>\n<Zed to Mira>\nTwo.<end>\n<char>\n"

    def test_or_left_alone(self):
        instruct = CHATML.with_(input_sequence="<{{name}}>", macro=False)
        assert "<{{name}}>\nTwo." in self.write(instruct)

    def test_a_continued_message_has_no_suffix(self):
        made = self.write(MARKED, turns=CHAT[:3], generation_type="continue")
        assert made == "<first char>\nOne.<end>\n<last user>\nTwo.<end>\n<last char>\nThree."

    def test_the_user_can_be_made_to_begin(self):
        instruct = MARKED.with_(user_alignment_message="Begin, {{char}}.")
        made = prompt(settings=settings(instruct), turns=CHAT[:1])
        assert made.text == "<first user>\nBegin, Mira.<end>\n<first char>\nOne.<end>\n<last char>\n"
        assert sources(made)[0] == "alignment"
        assert "Begin" not in self.write(instruct, turns=CHAT[1:2])


def test_carriage_returns_are_dropped():
    assert text(turns=turns("a\r\nb")) == "Mira: a\nb\nMira:"


def test_empty_lines_can_be_dropped_everywhere():
    collapsed = settings(context={"chat_start": "\n\n***\n"}, collapse_newlines=True)
    made = prompt(settings=collapsed, description="a\n\n\nb\n\n", turns=turns("\nc"))
    assert made.text == "a\nb\n***\nMira: \nc\nMira:"
    assert made.text == "".join(piece.text for piece in made.pieces if piece.kept)


def test_building_twice_gives_the_same():
    given = scene(turns=CHAT, settings=settings(MARKED))
    assert assemble_text_prompt(given) == assemble_text_prompt(given)
