"""What holds for every prompt, whatever the card, the preset, the lore, the chat and the budget."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.stories.builders import book, custom, entry, group, preset, text_settings

from tavernkit import sillytavern
from tavernkit.characters import Character, User
from tavernkit.prompt.block import Block
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import CharacterRatio
from tavernkit.sillytavern import (
    AuthorsNote,
    ExtensionPrompt,
    PersonaPlace,
    PersonaPosition,
    QuietPrompt,
    Story,
    UserSettings,
)
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt, TextPreset
from tavernkit.values import JsonObject, Value

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
COUNT = CharacterRatio(4)
GENERATION_TYPES = ("normal", "continue", "impersonate", "swipe", "regenerate", "quiet")
ROLES = ("assistant", "user", "system")
PRIMER, AROUND_MESSAGE, AROUND_NAME = 3, 3, 1


class Case(Value, frozen=True, kw_only=True):
    """The inputs of one build, as data, so that it can be built again and with a change."""

    inputs: JsonObject
    story: Story

    def build(self, **changes: Any) -> Plan:
        usual = {"estimator": COUNT, "clock": lambda: NOW, "rng": random.Random(5)}
        return sillytavern.build(story=self.story, **{**usual, **self.inputs, **changes}).plan

    @property
    def sendable(self) -> list[str]:
        """The sources of the messages that could be sent, oldest first."""
        history, kind = list(self.inputs["history"]), self.inputs["generation_type"]
        if kind == "regenerate" and not self.inputs["message"] and history and history[-1].role != "user":
            history.pop()
        places = [place for place, message in enumerate(history) if not message.metadata.get("is_system")]
        if self.inputs["message"]:
            places.append(len(history))
        if kind == "swipe":
            places = places[:-1]
        return [f"message:{place}" for place in places]


MACROS = ("{{user}}", "{{char}}", "{{pick::a::b}}", "{{random::x::y}}", "{{unknown}}", "{{", "}}", "\\{")
SPEECH = ("tea", "clock", "rain at dusk", "\n", "Ada:", "Wren: hm", "<START>", "*bows*", "снег", "雨", "é" * 9)
words = st.sampled_from((*MACROS, *SPEECH))
texts = st.lists(words, max_size=12).map(" ".join)
spoken = st.lists(words, max_size=25).map(lambda parts: " ".join(["Well", *parts]))
roles = st.sampled_from(ROLES)
depths = st.integers(0, 6)

messages = st.builds(
    lambda role, content, hidden, thought: Message(
        role=role,
        content=content,
        metadata={"is_system": True} if hidden else {"extra": {"reasoning": thought}} if thought else {},
    ),
    st.sampled_from(("user", "assistant", "assistant", "user", "system")),
    spoken,
    st.sampled_from((False, False, False, True)),
    st.sampled_from(("", "", "Think.")),
)
characters = st.builds(
    Character,
    name=st.just("Wren"),
    description=texts,
    personality=texts,
    scenario=texts,
    mes_example=st.lists(spoken.map("<START>\nAda: Hm?\nWren: {}".format), max_size=3).map("\n".join),
    system_prompt=st.sampled_from(("", "{{original}} Kindly.")),
    post_history_instructions=st.sampled_from(("", "Gently.")),
    extensions=st.sampled_from(({}, {"depth_prompt": {"prompt": "Hum.", "depth": 1, "role": "user"}})),
)
entries = st.builds(
    lambda content, key, position, order, depth, role: entry(
        content, *key, position=position, order=order, depth=depth, role=role, outletName="talk"
    ),
    texts,
    st.sampled_from(((), ("tea",), ("rain",))),
    st.integers(0, 7),
    st.integers(1, 200),
    depths,
    st.integers(0, 2),
)
extension_prompts = st.lists(
    st.builds(
        ExtensionPrompt,
        key=st.sampled_from(("1_memory", "x", "y")),
        content=texts,
        position=st.sampled_from(("none", "after", "chat", "before")),
        depth=depths,
        role=roles,
        scan=st.booleans(),
    ),
    max_size=3,
).map(tuple)
notes = st.builds(
    AuthorsNote,
    text=texts,
    position=st.sampled_from(("none", "after", "chat", "before")),
    depth=depths,
    role=roles,
    interval=st.integers(0, 3),
)
personas = st.builds(PersonaPlace, position=st.sampled_from(PersonaPosition), depth=depths, role=roles)


@st.composite
def in_chat_prompts(draw: st.DrawFn) -> tuple[PresetPrompt, ...]:
    contents = draw(st.lists(texts, max_size=5))
    return tuple(
        custom(
            f"own-{number}",
            content,
            injection_depth=draw(depths),
            injection_order=draw(st.sampled_from((50, 100, 150))),
            role=draw(roles),
            injection_trigger=draw(st.sampled_from(((), (), ("normal", "quiet")))),
        )
        for number, content in enumerate(contents)
    )


@st.composite
def chat_presets(draw: st.DrawFn, *, squash: bool | None = None) -> ChatPreset:
    return preset(
        *draw(in_chat_prompts()),
        custom("outlet", "{{outlet::talk}}"),
        main=draw(texts),
        jailbreak=draw(texts),
        off=draw(st.sampled_from(((), ("main",), ("jailbreak", "charDescription"), ("dialogueExamples",)))),
        openai_max_context=draw(st.integers(60, 500) | st.just(20_000)),
        openai_max_tokens=50,
        names_behavior=draw(st.sampled_from((-1, 0, 1, 2))),
        squash_system_messages=draw(st.booleans()) if squash is None else squash,
        continue_prefill=draw(st.booleans()),
        assistant_prefill=draw(st.sampled_from(("", "Then"))),
        wrap_in_quotes=draw(st.booleans()),
    )


@st.composite
def cases(draw: st.DrawFn, presets: st.SearchStrategy[Any], user_settings: st.SearchStrategy[UserSettings]) -> Case:
    character, kind = draw(characters), draw(st.sampled_from(GENERATION_TYPES))
    with_group = draw(st.sampled_from((False, False, True)))
    return Case(
        inputs={
            "character": character,
            "user": User(name="Ada", persona=draw(texts)),
            "preset": draw(presets),
            "history": tuple(draw(st.lists(messages, max_size=14))),
            "message": draw(st.sampled_from(("", "Tea, please."))),
            "books": (book(*draw(st.lists(entries, max_size=5))),),
            "generation_type": kind,
        },
        story=Story(
            settings=draw(user_settings),
            note=draw(notes),
            persona=draw(personas),
            extension_prompts=draw(extension_prompts),
            quiet=QuietPrompt(text="Sum up.") if kind == "quiet" else None,
            group=group(character, Character(name="Pip", description="Pip is nine.")) if with_group else None,
        ),
    )


chat_settings = st.builds(UserSettings, pin_examples=st.booleans(), strip_examples=st.just(False))
plain_text_settings = st.booleans().map(lambda pinned: text_settings(pin_examples=pinned))
any_text_settings = st.booleans().flatmap(
    lambda instructed: st.booleans().map(lambda pin: text_settings(with_instruct=instructed, pin_examples=pin))
)
text_presets = st.builds(TextPreset, max_length=st.integers(150, 700) | st.just(20_000), genamt=st.just(50))
chat_cases = cases(chat_presets(), chat_settings)
unsquashed_cases = cases(chat_presets(squash=False), chat_settings)
text_cases = cases(text_presets, any_text_settings)
plain_text_cases = cases(text_presets, plain_text_settings)


def cost(block: Block) -> int:
    """What a message of a chat completion costs, counted apart from the build."""
    name = AROUND_NAME + COUNT.estimate(block.name) if block.name else 0
    return AROUND_MESSAGE + COUNT.estimate(block.role) + COUNT.estimate(block.content) + name


def codes(plan: Plan) -> set[str]:
    return {warning.code for warning in plan.warnings}


def sources(blocks: Iterator[Block], prefix: str) -> list[str]:
    return [block.source["id"] for block in blocks if block.source["id"].startswith(prefix)]


@given(chat_cases)
def test_a_chat_prompt_is_never_over_budget(case: Case) -> None:
    budget = case.inputs["preset"].max_prompt_tokens - PRIMER
    plan = case.build()
    assert sum(map(cost, plan.enabled_blocks)) <= max(0, budget)
    assert plan.trim_report is not None
    assert plan.trim_report.final_tokens <= max(0, budget)


@given(text_cases)
def test_a_text_prompt_is_over_budget_only_where_what_must_be_there_is(case: Case) -> None:
    plan = case.build()
    prompt = plan.to_messages("text")
    assert isinstance(prompt, str)
    assert COUNT.estimate(prompt) <= case.inputs["preset"].max_prompt_tokens or "mandatory_over_budget" in codes(plan)


@given(chat_cases)
def test_protected_blocks_of_a_chat_prompt_survive(case: Case) -> None:
    plan = case.build()
    lost = [block for block in plan.blocks if not (block.removable or block.enabled)]
    assert not lost or "mandatory_over_budget" in codes(plan)


@given(text_cases)
def test_protected_blocks_of_a_text_prompt_survive(case: Case) -> None:
    plan = case.build()
    # What follows the chat is one of its messages to SillyTavern, and gets its share of the budget as they do.
    lost = [block for block in plan.blocks if not (block.removable or block.enabled or block.slot == "post_history")]
    assert not lost or "mandatory_over_budget" in codes(plan)


@given(chat_cases | text_cases)
def test_the_users_latest_message_is_sent_or_warned_about_and_kept_on_request(case: Case) -> None:
    said = [*case.inputs["history"], Message(role="user")]
    latest = [source for source in case.sendable if said[int(source.partition(":")[2])].role == "user"][-1:]
    plan, kept = case.build(), case.build(keep_user_message=True)
    sent, sent_in_any_case = (sources(iter(made.enabled_blocks), "message:") for made in (plan, kept))
    assert {*latest} <= {*sent} or "user_message_dropped" in codes(plan)
    assert {*latest} <= {*sent_in_any_case} or "mandatory_over_budget" in codes(kept)
    if {*latest} <= {*sent}:
        assert "user_message_dropped" not in codes(plan)
    report = kept.trim_report
    assert report is not None
    assert report.final_tokens <= max(0, report.budget_tokens) or "mandatory_over_budget" in codes(kept)


@given(chat_cases | text_cases)
def test_every_block_has_a_source(case: Case) -> None:
    for block in case.build().blocks:
        assert block.source["stage"]
        assert block.source["id"]


@given(chat_cases | text_cases)
def test_every_block_that_is_left_out_is_in_the_report(case: Case) -> None:
    plan = case.build()
    assert plan.trim_report is not None
    left_out = {block.id for block in plan.blocks if not block.enabled}
    assert left_out == {record.block_id for record in plan.trim_report.evictions}
    assert bool(left_out) <= bool(codes(plan) & {"trimmed", "mandatory_over_budget"})


@given(chat_cases | text_cases)
def test_building_twice_is_identical(case: Case) -> None:
    once, again = case.build(), case.build()
    assert once.blocks == again.blocks
    assert once.fingerprint() == again.fingerprint()
    assert once.warnings == again.warnings


@given(unsquashed_cases | text_cases)
def test_the_chat_that_is_kept_is_its_end(case: Case) -> None:
    kept = sources(iter(case.build().enabled_blocks), "message:")
    assert kept == case.sendable[len(case.sendable) - len(kept) :]


@given(unsquashed_cases)
def test_example_dialogues_are_kept_whole_and_the_first_ones_first(case: Case) -> None:
    bundles: dict[str, set[bool]] = {}
    for block in case.build().blocks:
        if block.bundle is not None:
            bundles.setdefault(block.bundle, set()).add(block.enabled)
    assert all(len(verdicts) == 1 for verdicts in bundles.values())
    kept = [verdicts == {True} for verdicts in bundles.values()]
    assert kept == sorted(kept, reverse=True)


@given(plain_text_cases)
def test_the_first_examples_of_a_text_prompt_are_kept_longest(case: Case) -> None:
    kept = [block.enabled for block in case.build().blocks if block.slot == "example"]
    assert kept == sorted(kept, reverse=True)


@given(unsquashed_cases)
def test_at_one_depth_stand_assistant_user_and_system_by_order(case: Case) -> None:
    blocks = [block for block in case.build().blocks if block.slot in ("history", "injection")]
    for first, second in pairwise(blocks):
        if first.slot == second.slot == "injection" and first.depth == second.depth:
            assert (first.order, ROLES.index(first.role)) < (second.order, ROLES.index(second.role))
        elif first.slot == second.slot == "injection":
            assert first.depth > second.depth


LORE = "The weathercock is made of gingerbread."


def lines_of(plan: Plan) -> list[str]:
    return [line for message in plan.messages for line in message.content.split("\n") if line]


@given(unsquashed_cases, st.integers(0, 4) | st.just(7), depths, st.integers(0, 2), st.integers(1, 200))
def test_disabling_an_entry_removes_exactly_its_text(
    case: Case, position: int, depth: int, role: int, order: int
) -> None:
    roomy = case.inputs["preset"].with_(openai_max_context=50_000)
    told = entry(LORE, position=position, depth=depth, role=role, order=order, outletName="talk")
    with_it = case.build(preset=roomy, books=(*case.inputs["books"], book(told)))
    without = case.build(preset=roomy, books=(*case.inputs["books"], book({**told, "disable": True})))
    assert [line for line in lines_of(with_it) if line != LORE] == lines_of(without)
    assert LORE not in lines_of(without)


@given(plain_text_cases, st.integers(0, 4), depths, st.integers(1, 200))
def test_disabling_an_entry_removes_exactly_its_text_from_a_text_prompt(
    case: Case, position: int, depth: int, order: int
) -> None:
    roomy = case.inputs["preset"].with_(max_length=50_000)
    told = entry(LORE, position=position, depth=depth, order=order)
    with_it = case.build(preset=roomy, books=(*case.inputs["books"], book(told)))
    without = case.build(preset=roomy, books=(*case.inputs["books"], book({**told, "disable": True})))
    assert [line for line in lines_of(with_it) if line != LORE] == lines_of(without)
    assert LORE not in lines_of(without)


@given(chat_cases)
def test_every_dialect_can_write_it(case: Case) -> None:
    plan = case.build()
    for dialect in ("openai", "anthropic", "google", "cohere", "ai21", "mistral", "xai", "text"):
        assert plan.to_messages(dialect) is not None
