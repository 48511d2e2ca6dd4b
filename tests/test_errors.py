"""Every error of the tree is raised through a public door."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

import tavernkit
import tavernkit.risuai.errors as risuai
import tavernkit.sillytavern.errors as sillytavern
from tavernkit import (
    Block,
    Book,
    BudgetPreset,
    Character,
    Context,
    Entry,
    Pipeline,
    TavernKitError,
    User,
    build,
    characters,
    dialects,
    errors,
    lore,
)
from tavernkit.artifacts import (
    Artifact,
    ArtifactWrite,
    MemoryStore,
    Session,
    Surface,
    Writer,
    apply_patch,
    check_permission,
)
from tavernkit.artifacts.liquid import LiquidLimits, LiquidTemplate
from tavernkit.artifacts.pipelines import (
    MemoryJournal,
    ModelAnswer,
    ModelRequest,
    PipelineRunner,
    Profile,
    RunContext,
    read_from,
    read_profile,
)
from tavernkit.artifacts.pipelines.schema import check_schema
from tavernkit.extensions import load_extensions
from tavernkit.load_hooks import LoadHook, LoadHooks, LoadScope
from tavernkit.memory.endpoints import read_embeddings
from tavernkit.risuai import MemoryRequest, RollingSummary
from tavernkit.risuai import Story as RisuStory
from tavernkit.risuai import build as build_as_risuai
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.trigger import Trigger
from tavernkit.sillytavern import Story
from tavernkit.sillytavern import build as build_as_sillytavern
from tavernkit.sillytavern.groups import GroupMember, StoryGroup, activate
from tavernkit.sillytavern.macros import Environment, MacroLimits, ParserMacros
from tavernkit.sillytavern.presets import read_preset
from tavernkit.sillytavern.stages.macro_warnings import warn_in
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.text.js_regex import compile_regex

MIRA, ROBIN = Character(name="Mira"), User(name="Robin")


def broken_stage(ctx: Context) -> None:
    raise KeyError("x")


def expand_strictly(text: str, limits: MacroLimits = MacroLimits()) -> None:  # noqa: B008 - a frozen value
    """Expand in a strict build, with a user whose name looks like a macro."""
    environment = Environment(user_name="{{char}}", character_name="Mira")

    def macros(ctx: Context) -> None:
        ParserMacros("1.19", limits=limits).expand(text, environment, on_problem=warn_in(ctx))

    Pipeline([("macros", macros)]).run(Context(strict=True))


def render_liquid(source: str, limits: LiquidLimits = LiquidLimits()) -> None:  # noqa: B008 - a frozen value
    LiquidTemplate.parse(source).render({}, clock=lambda: datetime.now(UTC), random=lambda: 0.5, limits=limits)


def wake_a_hostile_key() -> None:
    entry = Entry(id="1", keys=("/(a+)+$/",), content="Never.")
    build_as_sillytavern(
        character=MIRA, user=ROBIN, message="a" * 40 + "b", books=[Book(name="B", entries=(entry,))], strict=True
    )


def speak_in_a_group(speaker: str) -> None:
    group = StoryGroup.of(GroupMember.of(MIRA, "mira.png"))
    build_as_sillytavern(character=MIRA, user=ROBIN, story=Story(group=group, speaker=speaker))


def write_from_an_old_version() -> None:
    mood = Artifact(id="1", session=Session(owner_id="o", session_id="s"), tag="mood")
    write = ArtifactWrite(
        artifact=mood,
        content="calm",
        based_on_version=3,
        writer=Writer(pipeline="weather"),
        permissions=frozenset({"artifact_write"}),
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    asyncio.run(MemoryStore().write(write))


def stop_sending() -> None:
    stop = Trigger(type="start", effects=({"type": "stop"},))
    build_as_risuai(story=RisuStory(character=RisuCharacter(name="Mira", triggers=(stop,))), user=ROBIN)


def build_strictly(description: str = "", **fields: Any) -> None:
    """Build with a character of RisuAI's."""
    character = RisuCharacter(name="Mira", description=description, **fields)
    build_as_risuai(story=RisuStory(character=character), user=ROBIN, message="Hi", strict=True)


async def run_twice() -> None:
    store = MemoryStore()
    journal = MemoryJournal(store)
    for run_id in ("first", "second"):
        context = RunContext(
            run_id=run_id,
            idempotency_key="user_message:main:1",
            trigger="user_message",
            profile=Profile(id="empty"),
            session=Session(owner_id="o", session_id="s"),
            turn=1,
            now=datetime(2026, 1, 1, tzinfo=UTC),
            seed="seed",
        )
        run = PipelineRunner(
            context,
            read=read_from(store),
            journal=journal,
            call=no_model,
            clock=lambda: datetime.now(UTC),
            ids=lambda: "id",
        )
        await run.before()


def hooks_with(hook: LoadHook) -> LoadHooks:
    hooks = LoadHooks()
    hooks.on_load("tests.errors", hook)
    return hooks


async def no_model(request: ModelRequest) -> ModelAnswer:
    raise AssertionError("Nobody is asked.")


RAISED: dict[type[TavernKitError], Callable[[], object]] = {
    errors.InvalidCardError: lambda: characters.load(b'{"spec": "chara_card_v2", "data": {"description": "x"}}'),
    errors.UnsupportedVersionError: lambda: characters.load(
        b'{"spec": "chara_card_v9", "spec_version": "9.0", "data": {}}'
    ),
    errors.ParseError: lambda: characters.load(b"\x00\x01\x02\x03"),
    errors.PngParseError: lambda: characters.load(b"\x89PNG\r\n\x1a\n"),
    errors.ArchiveParseError: lambda: characters.load(b"PK\x03\x04broken"),
    errors.LoreParseError: lambda: lore.read_book(b'{"a": 1}'),
    errors.InvalidEmbeddingsError: lambda: read_embeddings("openai", b"no JSON", 1),
    errors.PresetParseError: lambda: read_preset(b"not json"),
    errors.PngWriteError: lambda: characters.to_png(characters.CharacterCard(character=MIRA), b"GIF89a"),
    errors.StrictModeError: lambda: build(character=MIRA.with_(description="{{roll:d6}}"), user=ROBIN, strict=True),
    errors.PipelineError: lambda: Pipeline([("broken", broken_stage)]).run(Context()),
    errors.TokenBudgetExceeded: lambda: build(
        character=MIRA, user=ROBIN, preset=BudgetPreset(context_window_tokens=3, reserved_response_tokens=0)
    ),
    errors.MissingInputError: lambda: build(character=MIRA),
    errors.UnknownDialectError: lambda: build(character=MIRA, user=ROBIN).plan.to_messages("klingon"),
    errors.DialectError: lambda: dialects.convert([{"role": "user", "content": 7}], dialect="openai"),
    errors.LoadHookError: lambda: LoadScope("tests.errors", dict, hooks_with(lambda _: 1 / 0))(),
    errors.ExtensionError: lambda: load_extensions(["no_such_extension"]),
    errors.RegexError: lambda: compile_regex("("),
    errors.RegexTimeout: lambda: compile_regex("^(a+)+$").test("a" * 32 + "b"),
    errors.LiquidSyntaxError: lambda: LiquidTemplate.parse("{% if %}"),
    errors.LiquidRenderError: lambda: render_liquid("{% render 'scene' %}"),
    errors.LiquidLimitError: lambda: render_liquid("{% for i in (1..9) %}{% endfor %}", LiquidLimits(steps=3)),
    errors.InvalidArtifactError: lambda: Surface.parse("cellar:1"),
    errors.ArtifactConflict: write_from_an_old_version,
    errors.ArtifactPolicyError: lambda: check_permission([], tag="mood", kind="state"),
    errors.InvalidProfileError: lambda: read_profile({"pipelines": []}),
    errors.StepFailed: lambda: check_schema({"type": "dragon"}),
    errors.RunInProgress: lambda: asyncio.run(run_twice()),
    errors.JsonPatchError: lambda: apply_patch({}, [{"op": "remove", "path": "/nothing"}]),
    sillytavern.MacroError: lambda: expand_strictly("{{user}}" * 99, MacroLimits(steps=9)),
    sillytavern.MacroSyntaxError: lambda: expand_strictly("{{broken"),
    sillytavern.UnknownMacroError: lambda: expand_strictly("{{nonsense}}"),
    sillytavern.UnconsumedMacroError: lambda: expand_strictly("{{user}}"),
    sillytavern.LoreParseError: wake_a_hostile_key,
    sillytavern.UnknownMemberError: lambda: speak_in_a_group("nobody.png"),
    sillytavern.DepartedMemberError: lambda: activate(
        StoryGroup.of(GroupMember.of(MIRA, "mira.png")),
        chat=[ChatTurn(index=0, text="Gone.", name="Pell")],
        generation_type="continue",
        random=lambda: 0.5,
    ),
    sillytavern.InvalidPresetError: lambda: read_preset(b'{"colour": "red"}'),
    sillytavern.InvalidInstructError: lambda: read_preset(b'{"input_sequence": [], "output_sequence": {}}'),
    sillytavern.InvalidContextTemplateError: lambda: read_preset(b'{"story_string": [], "chat_start": ""}'),
    risuai.MemoryStateError: lambda: RollingSummary().recall(
        MemoryRequest(messages=(), tokens=9, budget=0, state="gone\nThey met.", count=len)
    ),
    risuai.CBSError: lambda: build_strictly(
        "{{#func f}}" + "{{arg::1}}" * 10 + "{{/func}}" + "{{call::f::" * 15 + "y" + "}}" * 15
    ),
    risuai.CBSSyntaxError: lambda: build_strictly("{{#when::1}}never closed"),
    risuai.CBSStackOverflowError: lambda: build_strictly("{{#func f}}{{call::f}}{{/func}}{{call::f}}"),
    risuai.DecoratorParseError: lambda: build_strictly(lore=(LoreEntry(always_active=True, content="@@depth x\ny"),)),
    risuai.TriggerError: lambda: build_strictly(triggers=(Trigger(type="start", effects=({"type": "setvar"},)),)),
    risuai.TriggerRecursionError: lambda: build_strictly(
        triggers=(Trigger(type="start", comment="loop", effects=({"type": "runtrigger", "value": "loop"},)),)
    ),
    risuai.SendingStopped: stop_sending,
}

ONLY_A_BASE = {errors.ArtifactError, errors.LiquidError, sillytavern.GroupError}


@pytest.mark.parametrize("error", RAISED, ids=lambda error: f"{error.__module__}.{error.__name__}")
def test_it_is_raised_through_a_public_door_with_a_sentence(error: type[TavernKitError]) -> None:
    with pytest.raises(error) as caught:
        RAISED[error]()
    assert caught.type is error
    assert len(str(caught.value).split()) >= 3


def tree(error: type[TavernKitError]) -> Iterator[type[TavernKitError]]:
    """The library's errors; the application has its own, which are there only when it was imported."""
    for child in error.__subclasses__():
        if child.__module__.startswith("tavernkit.") and not child.__module__.startswith("tavernkit.playground."):
            yield child
            yield from tree(child)


def named_in(module: ModuleType) -> set[type[TavernKitError]]:
    return {each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__}


def test_no_class_of_the_tree_is_left_out() -> None:
    named = named_in(errors) | named_in(sillytavern) | named_in(risuai)
    assert named - {TavernKitError} == set(tree(TavernKitError)) == set(RAISED) | ONLY_A_BASE


def test_the_tree_is_drawn_at_the_top_of_each_module() -> None:
    for module in (errors, sillytavern, risuai):
        assert module.__doc__ is not None
        assert [each for each in named_in(module) if each.__name__ not in module.__doc__] == []


def test_platform_errors_carry_what_their_readers_need() -> None:
    macro = sillytavern.UnknownMacroError("Unknown macro.", macro_name="x", position=3)
    assert (macro.macro_name, macro.position) == ("x", 3)
    cbs = risuai.CBSSyntaxError("Unclosed.", position=3, block_type="if")
    assert (cbs.position, cbs.block_type) == (3, "if")
    trigger = risuai.TriggerRecursionError("Too deep.", trigger_type="start", effect_type="runtrigger")
    assert (trigger.trigger_type, trigger.effect_type) == ("start", "runtrigger")


def test_the_errors_of_a_mistake_in_the_program_are_value_errors_too() -> None:
    with pytest.raises(ValueError, match="klingon"):
        tavernkit.Plan(blocks=(Block(content="x"),)).to_messages("klingon")
