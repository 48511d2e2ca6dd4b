"""Prompt templates: what each card says, and how the lines become messages."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.risuai.prompt.builders import CHAT, always, chat, marlow, on_start, plain, texts, told

import tavernkit.risuai
from tavernkit.prompt.plan import Plan
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.risuai import PromptCard, RisuSettings, Story, TemplateSettings
from tavernkit.risuai.character import PicturePrompts
from tavernkit.risuai.settings import DEFAULT_ORDER, read_settings
from tavernkit.risuai.stages.assembly import EVERYTHING, chat_range
from tavernkit.risuai.stored import AssetName
from tavernkit.risuai.template.forming import FormedPrompt, spliced
from tavernkit.risuai.template.line import Line

HISTORY = chat("u: one", "a: two", "u: three")


def line(role: str = "system", content: str = "x") -> Line:
    return Line(role=role, content=content, source="s", slot="s")


class TestCards:
    def test_system_messages_side_by_side_are_one_for_models_that_take_it_so(self) -> None:
        cards = (plain("one"), plain("two"), plain("ask", role="user"), plain("three"))
        assert texts(told(*cards)) == ["one\n\ntwo", "ask", "three"]
        assert texts(told(*cards, settings={"model": "custom"})) == ["one", "two", "ask", "three"]

    def test_blank_cards_leave_nothing(self) -> None:
        assert texts(told(plain("  one "), plain(" \n"), plain(""))) == ["one"]

    def test_roles_have_risuais_names(self) -> None:
        plan = told(plain("u", role="user"), plain("b", role="bot"))
        assert [message.role for message in plan.messages] == ["user", "assistant"]

    def test_a_card_knows_its_role(self) -> None:
        assert texts(told(plain("{{role}} {{user}}", role="user"))) == ["user Tess"]

    def test_jailbreak_and_thinking_have_switches(self) -> None:
        cards = (PromptCard(type="jailbreak", text="J"), PromptCard(type="cot", text="C"))
        assert texts(told(*cards)) == []
        own = {"prompt": TemplateSettings(custom_chain_of_thought=True), "jailbreak_on": True, "chain_of_thought": True}
        assert texts(told(*cards, settings=own)) == ["J\n\nC"]
        built_in = told(*cards, settings={"chain_of_thought": True})
        assert texts(built_in)[0].startswith("C\n\n<instruction>")

    def test_an_inner_format_has_one_slot(self) -> None:
        card = PromptCard(type="persona", inner_format="<{{slot}}|{{slot}}>")
        assert texts(told(card)) == ["<Tess draws maps.|{{slot}}>"]

    def test_the_authors_note_has_a_default(self) -> None:
        card = PromptCard(type="authornote", inner_format="({{slot}})", default_text="for {{user}}")
        assert texts(told(card)) == ["(for Tess)"]
        assert texts(told(card, story=Story(note="now"))) == ["(now)"]

    def test_the_global_note_is_the_characters_where_it_has_one(self) -> None:
        card = plain("NOTE", kind="globalNote")
        assert texts(told(card, character=marlow(replace_global_note="mine, {{original}}!"))) == ["mine, NOTE!"]

    def test_a_character_without_a_story_is_told_nothing_but_itself(self) -> None:
        utility = marlow(is_utility=True)
        assert texts(told(plain("T"), character=utility))[0] == "Marlow tends the light."
        kept = {"prompt": TemplateSettings(utility_override=True)}
        assert texts(told(plain("T"), character=utility, settings=kept)) == ["T"]

    def test_chat_ml_becomes_messages(self) -> None:
        card = PromptCard(type="chatML", text="<|im_start|>system\n{{char}}<|im_end|><|im_start|>user\nHi")
        assert texts(told(card)) == ["Marlow", "Hi"]

    def test_a_card_that_cannot_be_used_is_told_of(self) -> None:
        plan = told(PromptCard(type="chatML", text="no tags"), PromptCard(type="spell"), plain("rest"))
        assert texts(plan) == ["rest"]
        assert [warning.code for warning in plan.warnings] == ["not_chat_ml", "unknown_card"]

    def test_two_cards_can_show_the_same_lines_and_then_share_what_was_joined_to_them(self) -> None:
        lore = (always("L1", insert_order=1), always("L2", insert_order=2))
        cards = (PromptCard(type="lorebook"), plain("ask", role="user"), PromptCard(type="lorebook"))
        assert texts(told(*cards, character=marlow(lore=lore))) == ["L1\n\nL2\n\nL2", "ask", "L1\n\nL2\n\nL2"]


class TestLorePlaces:
    def test_a_template_has_places_for_lore(self) -> None:
        character = marlow(lore=(always("@@position pt_intro\n{{user}} here"), always("@@inject_at main\nadded")))
        assert texts(told(plain("M {{position::intro}}.", kind="main"), character=character)) == ["M Tess here. added"]

    def test_depth_counts_from_the_beginning_and_reverse_depth_from_the_end(self) -> None:
        character = marlow(lore=(always("@@depth 1\nD1"), always("@@reverse_depth 1\nR1"), always("@@depth 0\nD0")))
        plan = told(CHAT, character=character, history=HISTORY)
        assert texts(plan) == ["D1", "Hello.", "one", "two", "R1", "three", "D0"]

    def test_what_the_character_shall_have_said_comes_last(self) -> None:
        character = marlow(lore=(always("@@end\n@@role assistant\nPRE"), always("@@end\nPOST")))
        assert texts(told(plain("T"), character=character)) == ["T\n\nPOST", "PRE"]


class TestChat:
    def test_a_card_can_show_a_part_of_the_chat(self) -> None:
        plan = told(
            PromptCard(type="chat", range_start=-2), plain("mid", role="user"), PromptCard(type="chat", range_end=3),
            history=HISTORY,
        )  # fmt: skip
        assert texts(plan) == ["two", "three", "mid", "Hello.", "one"]

    def test_the_chat_can_be_sent_as_system_messages(self) -> None:
        settings = {"prompt": TemplateSettings(send_chat_as_system=True), "model": "custom"}
        plan = told(CHAT, history=HISTORY[:2], settings=settings)
        assert texts(plan) == ["[Start a new chat]", "assistant: Hello.", "user: one", "assistant: two"]
        assert {message.role for message in plan.messages} == {"system"}
        original = CHAT.with_(chat_as_original_on_system=True)
        assert texts(told(original, history=HISTORY[:2], settings=settings))[-1] == "two"

    def test_names_can_be_sent(self) -> None:
        plan = told(CHAT, history=HISTORY[:1], settings={"prompt": TemplateSettings(send_name=True)})
        assert texts(plan) == ["Marlow: Hello.", "<Marlow's Message>\none\n</Marlow's Message>"]

    def test_the_form_of_named_messages_can_be_chosen(self) -> None:
        chosen = {"named_message": "[{{char}}] {{slot}}", "named_message_role": "system"}
        plan = told(CHAT, history=HISTORY[:1], settings={"prompt": TemplateSettings(send_name=True), **chosen})
        assert (plan.messages[-1].role, plan.messages[-1].content) == ("system", "[Marlow] one")
        odd = told(
            CHAT, history=HISTORY[:1], settings={"prompt": TemplateSettings(send_name=True), "named_message_role": "x"}
        )
        assert odd.messages[-1].role == "assistant"

    def test_examples_stand_before_the_chat(self) -> None:
        character = marlow(example_message="<START>\n{{user}}: q\n{{char}}: w\nand more")
        plan = told(CHAT, character=character)
        assert [(m.name, m.content) for m in plan.messages] == [
            ("example_user", "q"),
            ("example_assistant", "w\nand more"),
            (None, "Hello."),
        ]

    def test_cache_points_are_kept_with_their_blocks(self) -> None:
        plan = told(CHAT, PromptCard(type="cache", role="user", depth=1), history=HISTORY)
        assert [block.content for block in plan.blocks if block.metadata.get("cache_point")] == ["three"]
        claude = told(CHAT, history=HISTORY, settings={"model": "claude-3", "automatic_cache_point": True})
        assert [block.content for block in claude.blocks if "cache_control" in block.message_metadata] == [
            "one",
            "three",
        ]


class TestPictures:
    PROMPTS = PicturePrompts(instructions="Draw {{user}}.", emotion_instructions="One of {{slot}}.")
    EMOTIONS = (AssetName(name="calm"), AssetName(name="sad"))

    @pytest.mark.parametrize(("screen", "said"), [("emotion", ["One of calm, sad."]), ("imggen", ["Draw {{user}}."])])
    def test_a_reply_with_pictures_is_asked_for_before_the_lore_at_the_end(self, screen: str, said: list[str]) -> None:
        fields = {"view_screen": screen, "picture_prompts": self.PROMPTS, "emotions": self.EMOTIONS}
        lore = (always("@@end\nE"),)
        character = marlow(**fields, lore=lore, shows_pictures_in_chat=True)
        assert texts(told(plain("M", role="user"), character=character)) == ["M", "\n\n".join((*said, "E"))]
        assert texts(told(plain("M", role="user"), character=marlow(**fields, lore=lore))) == ["M", "E"]


class TestOlderOrder:
    def test_an_empty_order_is_an_order(self) -> None:
        assert read_settings(LooseObject({"formatingOrder": []}, ReportBuilder())).order == ()
        assert read_settings(LooseObject({}, ReportBuilder())).order == DEFAULT_ORDER

    def test_parts_stand_in_the_order_of_the_settings(self) -> None:
        settings = {"order": ("chats", "lastChat", "main"), "main_prompt": "@@user\nU\n@@system\nS"}
        assert texts(told(history=HISTORY[:1], settings=settings)) == ["Hello.", "one", "U", "S"]

    def test_an_unknown_part_is_told_of(self) -> None:
        plan = told(settings={"order": ("main", "cake")})
        assert [warning.code for warning in plan.warnings] == ["unknown_part"]

    def test_triggers_can_speak_around_the_last_message(self) -> None:
        places = ("start", "historyend", "promptend")
        effects = [{"type": "systemprompt", "location": place, "value": place} for place in places]
        settings = {"order": ("chats", "lastChat"), "model": "custom"}
        character = marlow(triggers=(on_start(*effects),))
        plan = told(character=character, history=HISTORY[:1], settings=settings)
        assert texts(plan) == ["[Start a new chat]", "Hello.", "start", "one", "historyend", "promptend"]
        assert texts(told(plain("T"), character=character)) == ["T\n\npromptend"]


@given(start=st.integers(-1001, 30), end=st.none() | st.integers(-30, 30), length=st.integers(0, 20))
def test_a_range_is_always_a_part_of_the_chat_in_its_order(start: int, end: int | None, length: int) -> None:
    chat_lines = list(range(length))
    chosen = chat_lines[chat_range(start, end, length)]
    assert chosen == sorted(set(chosen))
    if start == EVERYTHING or (start <= -length and end is None):
        assert chosen == chat_lines


@given(st.lists(st.tuples(st.sampled_from(["system", "user"]), st.sampled_from(["a", " ", "b"])), max_size=12))
def test_joining_keeps_every_word_in_order_and_leaves_no_system_neighbours(said: list[tuple[str, str]]) -> None:
    formed = FormedPrompt(joins=True)
    formed.push([line(role, content) for role, content in said])
    words = "".join(text for _, text in said).replace(" ", "")
    assert "".join(made.content for made in formed.lines).replace("\n", "") == words
    roles = [made.role for made in formed.lines]
    assert ("system", "system") not in itertools.pairwise(roles)


@pytest.mark.parametrize(("place", "expected"), [(0, "xab"), (1, "axb"), (9, "abx"), (-1, "axb"), (-9, "xab")])
def test_splicing_counts_as_javascript_does(place: int, expected: str) -> None:
    lines = [line(content="a"), line(content="b")]
    spliced(lines, place, line(content="x"))
    assert "".join(made.content for made in lines) == expected


def fields_of(plan: Plan) -> set[str]:
    return {str(block.source.get("id")) for block in plan.blocks}


def test_every_block_says_where_it_comes_from() -> None:
    plan = told(plain("M", kind="main"), plain("q", role="user"), PromptCard(type="description"), CHAT, history=HISTORY)
    assert fields_of(plan) == {
        "card:0:plain", "card:1:plain", "card:2:description", "new_chat", "greeting", "message:0", "message:1",
        "message:2",
    }  # fmt: skip
    assert all(block.source["stage"] for block in plan.blocks)
    joined = told(plain("M"), PromptCard(type="description"))
    assert joined.blocks[0].metadata["parts"] == ["card:0:plain", "card:1:description"]


def test_every_field_of_the_settings_has_a_reader() -> None:
    """A setting that nobody looks at would be a promise that is not kept."""
    root = Path(tavernkit.risuai.__file__).parent
    own = (root / "settings.py", root / "writing.py")
    sources = "".join(path.read_text() for path in root.rglob("*.py") if path not in own)
    for kind in (RisuSettings, TemplateSettings, PromptCard):
        unread = [name for name in kind.__struct_fields__ if f".{name}" not in sources and name != "written"]
        assert unread == [], kind
