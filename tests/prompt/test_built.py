"""What a build gives back: values that survive being pickled, written as JSON and read again."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit import (
    Attachment,
    Book,
    BuildHooks,
    BuildResult,
    Built,
    Character,
    Context,
    DialectError,
    Entry,
    Message,
    User,
    Variables,
    build,
    risuai,
    sillytavern,
)
from tavernkit.artifacts import inclusion_report
from tavernkit.risuai import ReplyCleanup, RisuCharacter, RisuResult
from tavernkit.risuai import RisuRegexScript as RisuScript
from tavernkit.risuai import Story as RisuStory
from tavernkit.sillytavern import ReasoningSettings, SillyTavernResult, Story, UserSettings
from tavernkit.sillytavern.groups import GroupMember, StoryGroup
from tavernkit.sillytavern.presets import ChatPreset, Instruct, TextPreset
from tavernkit.sillytavern.regex_scripts import RegexScript, RegexScripts

MIRA = Character(name="Mira", description="{{char}} paints.", first_mes="Hm?", tags=("calm",))
ROBIN = User(name="Robin", persona="{{user}} sails.")
NOW = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))

SCRIPT = RegexScript(findRegex="/harbour/g", replaceString="{{setvar::said::{{user}}}}", placement=(2,))

texts = st.text(st.characters(), max_size=20)
"""Halves of surrogate pairs among them, as files of other programs may have."""

words = st.sampled_from(
    ("harbour", "the tide", "{{setvar::seen::yes}}", "{{random::a::b}}", "Robin: no", "<think>x</think>")
)
messages = st.builds(
    Message,
    role=st.sampled_from(("user", "assistant")),
    content=st.one_of(words, texts),
    name=st.none() | st.just("Mira"),
    attachments=st.sampled_from(((), (Attachment(data=b"\x00\xff", tokens=3),))),
)
entries = st.builds(
    Entry,
    id=st.sampled_from(("1", "2")),
    keys=st.sampled_from((("harbour",), ("tide", "boat"), ())),
    content=texts,
    constant=st.booleans(),
    extensions=st.sampled_from(({}, {"sticky": 2, "cooldown": 1})),
)
values = st.dictionaries(st.sampled_from(("mood", "seen")), st.one_of(texts, st.integers(), st.booleans()))
inputs = st.fixed_dictionaries(
    {
        "history": st.lists(messages, max_size=4),
        "message": st.one_of(words, texts),
        "books": st.lists(entries, max_size=2, unique_by=lambda entry: entry.id).map(
            lambda found: [Book(name="B", entries=tuple(found))]
        ),
        "generation_type": st.sampled_from(("normal", "continue", "regenerate", "swipe")),
        "variables": st.builds(Variables, values, values),
        "trace": st.booleans(),
        "user": st.just(ROBIN),
        "clock": st.just(lambda: NOW),
    }
)
replies = st.one_of(words, texts, st.just("<think>Hm.</think>Mira: A harbour.\nRobin: No."))
stories = st.builds(
    Story,
    settings=st.builds(
        UserSettings,
        reasoning=st.just(ReasoningSettings(prefix="<think>", suffix="</think>", auto_parse=True)),
        user_prompt_bias=st.sampled_from(("", "{{lastMessage}}", "{{roll:d20}}", "{{time}}")),
        instruct=st.sampled_from((Instruct(enabled=False), Instruct(enabled=True, input_sequence="### {{user}}"))),
    ),
    regex_scripts=st.sampled_from((RegexScripts(), RegexScripts(global_=(SCRIPT,)))),
    group=st.sampled_from((None, StoryGroup.of(GroupMember.of(MIRA, "mira.png"), GroupMember.of(MIRA, "m2.png")))),
    macros=st.sampled_from(("1.19", "legacy")),
    zone=st.sampled_from((UTC, NOW.tzinfo)),
)
risu_stories = st.builds(
    RisuStory,
    character=st.builds(
        RisuCharacter,
        name=st.just("Mira"),
        scripts=st.sampled_from(((), (RisuScript(type="editoutput", pattern="harbour", replacement="{{user}}"),))),
    ),
    cleanup=st.sampled_from((None, ReplyCleanup(thoughts_prefix="<think>", thoughts_suffix="</think>", joint=" "))),
    note=texts,
)


def survivors(built: Built[Any], kind: type[BuildResult]) -> tuple[Built[Any], ...]:
    """The build after each of its journeys."""
    return pickle.loads(pickle.dumps(built)), Built.decode(built.encode(), kind)  # noqa: S301 - written right here


@given(inputs=inputs)
def test_a_plain_build_survives_pickling_and_json(inputs: dict[str, Any]) -> None:
    built = build(character=MIRA, **inputs)
    assert survivors(built, BuildResult) == (built, built)


@settings(deadline=None)
@given(
    inputs=inputs,
    story=stories,
    preset=st.sampled_from((ChatPreset(), ChatPreset(chat_completion_source="claude"), TextPreset())),
    text=replies,
)
def test_a_sillytavern_build_survives_with_what_its_reply_needs(
    inputs: dict[str, Any], story: Story, preset: ChatPreset | TextPreset, text: str
) -> None:
    built = sillytavern.build(
        character=MIRA, story=story.with_(speaker=story.group and "mira.png"), preset=preset, **inputs
    )
    reply = sillytavern.take_reply(built, text)
    for survivor in survivors(built, SillyTavernResult):
        assert survivor == built
        assert survivor.request == built.request
        assert sillytavern.take_reply(survivor, text) == reply


@settings(deadline=None)
@given(inputs=inputs, story=risu_stories, text=replies)
def test_a_risuai_build_survives_with_what_its_reply_needs(inputs: dict[str, Any], story: RisuStory, text: str) -> None:
    built = risuai.build(story=story, **inputs)
    reply = risuai.take_reply(built, text)
    for survivor in survivors(built, RisuResult):
        assert survivor == built
        assert survivor.request == built.request
        assert risuai.take_reply(survivor, text) == reply


def test_what_is_no_build_of_that_platform_is_refused() -> None:
    built = build(character=MIRA, user=ROBIN)
    with pytest.raises(ValueError, match="SillyTavernResult"):
        Built.decode(built.encode(), SillyTavernResult)
    with pytest.raises(TypeError, match="object"):
        build(character=MIRA, user=ROBIN, metadata={"mine": object()}).encode()


def test_a_result_says_what_became_of_lore_timers_and_variables() -> None:
    book = Book(
        name="Sea",
        entries=(
            Entry(id="1", keys=("harbour",), name="Harbour", content="{{user}} knows it.", extensions={"sticky": 3}),
            Entry(id="2", keys=("boat",), content="A boat."),
        ),
    )
    said = {"user": ROBIN, "message": "The harbour!{{setvar::seen::yes}}", "books": [book]}
    plain = build(character=MIRA, **said).result
    assert [(verdict.name, verdict.is_activated) for verdict in plain.lore] == [("Harbour", True)]
    result = sillytavern.build(character=MIRA, **said).result
    [verdict] = result.lore
    assert (verdict.book, verdict.reason, verdict.content) == ("Sea", "activated", "Robin knows it.")
    assert verdict.sentence == "“harbour” was found in the newest message"
    assert result.timed is not None
    assert [effect.end - effect.start for effect in result.timed.sticky.values()] == [3]
    assert result.variables == {"local": {"seen": "yes"}, "global": {}}
    risu = risuai.build(character=MIRA, **said).result
    assert [(verdict.name, verdict.content) for verdict in risu.lore] == [("Harbour", "Robin knows it.")]
    assert (risu.timed, risu.variables["local"]) == (None, {"seen": "yes"})


def test_a_request_is_for_the_provider_of_the_preset() -> None:
    preset = ChatPreset(chat_completion_source="claude", claude_model="claude-x")
    request = sillytavern.build(character=MIRA, user=ROBIN, message="Hi", preset=preset).request
    assert (request.dialect, request.model, request.options["max_tokens"]) == (
        "anthropic",
        "claude-x",
        preset.openai_max_tokens,
    )
    assert set(request.body) == {"system", "messages"}
    assert isinstance(sillytavern.build(character=MIRA, user=ROBIN, preset=TextPreset()).request.body, str)
    assert (
        risuai.build(character=MIRA, user=ROBIN, preset=risuai.RisuSettings(model="claude")).request.dialect
        == "anthropic"
    )
    silent = build(character=MIRA, user=ROBIN, attachments=[Attachment(kind="smell", data=b"")])
    with pytest.raises(DialectError):
        _ = silent.request


def test_hooks_after_a_build_see_the_finished_plan() -> None:
    hooks, seen = BuildHooks(), []

    @hooks.after_build
    def look(ctx: Context) -> None:
        assert ctx.plan is not None
        seen.append(ctx.plan)
        ctx.warn("looked", "Somebody has looked.")

    for made in (
        build(character=MIRA, user=ROBIN, hooks=hooks),
        sillytavern.build(character=MIRA, user=ROBIN, hooks=hooks),
        risuai.build(character=MIRA, user=ROBIN, hooks=hooks),
    ):
        assert seen.pop(0) == made.plan
        assert [warning.code for warning in made.result.warnings][-1] == "looked"


def test_a_plan_without_artifacts_has_no_decisions() -> None:
    assert inclusion_report(build(character=MIRA, user=ROBIN).plan).decisions == ()
