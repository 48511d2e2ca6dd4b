"""The contract's promises about values, keys and the parts that both platforms share."""

import inspect
import json
from typing import Any

import pytest

from tavernkit import (
    Block,
    Book,
    BuildHooks,
    BuildResult,
    BuildWarning,
    Built,
    Character,
    Context,
    Entry,
    EvictionRecord,
    Injection,
    LoadHooks,
    LoreResult,
    MacroRegistry,
    Message,
    NameEnvironment,
    NameMacros,
    PlainLore,
    Plan,
    ScanInput,
    Trace,
    TraceCollector,
    TraceStage,
    Trimmer,
    TrimReport,
    TrimResult,
    User,
    Variables,
    build,
    characters,
    risuai,
    sillytavern,
)
from tavernkit.lore import read_book
from tavernkit.prompt.tokens import CharacterRatio
from tavernkit.risuai.cbs import CBS, Functions
from tavernkit.sillytavern.macros import MacroArgument, MacroDefinitions, macro_engine
from tavernkit.sillytavern.macros.environment import Environment

VALUES = [
    *(Block, BuildResult, BuildWarning, Built, Character, Entry, EvictionRecord, Injection, LoreResult, Message),
    *(Book, Plan, ScanInput, Trace, TraceStage, TrimReport, TrimResult, User, sillytavern.Story, risuai.Story),
]
MIRA, ROBIN = Character(name="Mira"), User(name="Robin")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.__module__}.{value.__name__}")
def test_every_value_is_made_by_name_and_frozen(value: Any) -> None:
    assert value.__struct_config__.frozen
    assert {one.kind for one in inspect.signature(value).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert hasattr(value, "with_")
    with pytest.raises(TypeError, match="colour"):
        value(colour="red")


def test_an_update_is_another_value() -> None:
    block = Block(role="system", content="Hello", insertion_point="chat", priority=100)
    assert block.with_(enabled=False, priority=50).priority == 50
    assert (block.disable().enabled, block.with_priority(200).priority) == (False, 200)
    assert (block.enabled, block.removable, block.priority) == (True, True, 100)
    with pytest.raises(TypeError):
        Block("system", "Hello", "chat", 100)


@pytest.mark.parametrize(
    "engine", [NameMacros(), macro_engine("legacy"), macro_engine("1.15"), macro_engine("1.19"), CBS()]
)
def test_every_engine_expands_in_any_environment(engine: Any) -> None:
    environment = NameEnvironment(character_name="Mira", user_name="Robin", variables=Variables())
    assert engine.expand("{{char}} greets {{user}}.", environment=environment) == "Mira greets Robin."


@pytest.mark.parametrize(
    ("registry", "metadata"),
    [
        (MacroDefinitions(), {"arguments": (MacroArgument(name="of"),), "takes_list": True, "strict": False}),
        (Functions(), {"aliases": ("luna",)}),
    ],
    ids=["sillytavern", "risuai"],
)
def test_a_registry_has_what_was_registered_with_metadata_of_its_platform(
    registry: MacroRegistry, metadata: dict[str, Any]
) -> None:
    assert not registry.has("moon")
    assert registry.get("moon") is None
    registry.register("moon", lambda *_: "full", **metadata)
    assert registry.has("moon")
    assert registry.get("moon") is not None
    with pytest.raises(TypeError, match="arity"):
        registry.register("sun", lambda *_: "hot", arity=1)


def test_the_environment_of_sillytavern_reaches_names_variables_and_what_only_it_has() -> None:
    environment = Environment(user_name="Robin", character_name="Mira", extensions=frozenset({"summarize"}))
    environment.set_var("mood", "calm")
    environment.set_var("mood", "wild", scope="global")
    assert (environment.get_var("mood"), environment.get_var("mood", scope="global")) == ("calm", "wild")
    assert (environment.has_var("mood"), environment.has_var("tide")) == (True, False)
    named = set(Environment.__struct_fields__)
    assert named >= {"settings", "clock", "random", "chat_id_hash", "extensions", "dynamic_macros"}


def test_extensions_are_kept_as_they_came() -> None:
    raw = {"chub/alt_expressions": {"Foo Bar": None}, "camelCase": 1, "snake_case": [{"inner Key": True}], "7": {}}
    data = {"name": "Mira", "description": "x", "extensions": raw}
    card, _ = characters.read_card({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
    assert card.character.extensions == raw
    assert characters.write_card(card, "chara_card_v2")["data"]["extensions"] == raw
    book, _ = read_book({"entries": [{"keys": ["a"], "content": "x", "extensions": {"sillyTavern/sticky": 3}}]})
    assert book.entries[0].extensions["sillyTavern/sticky"] == 3


def test_extensions_that_are_no_object_are_none_with_a_note() -> None:
    data = {"name": "Mira", "description": "x", "extensions": ["x"]}
    card, report = characters.read_card({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
    assert card.character.extensions == {}
    assert [note.path for note in report.broken] == ["data.extensions"]


def test_a_world_entry_has_the_core_fields_and_its_platforms_in_extensions() -> None:
    world = {
        "entries": {"4": {"uid": 4, "key": ["reef"], "content": "Sharp.", "order": 7, "disable": True, "sticky": 2}}
    }
    (entry,) = read_book(world)[0].entries
    core = (entry.id, entry.keys, entry.content, entry.enabled, entry.insertion_order)
    assert core == ("4", ("reef",), "Sharp.", False, 7)
    assert entry.extensions["sticky"] == 2


def test_a_lore_result_has_entries_tokens_and_a_report_where_the_budget_was_short() -> None:
    book = Book(entries=tuple(Entry(id=name, keys=("tide",), content=f"{name} " * 8) for name in "ab"))
    scan_input = ScanInput(messages=("The tide!",), books=(book,), budget=None)
    engine = PlainLore(CharacterRatio())
    result = engine.scan(scan_input)
    assert [entry.id for entry in result.activated_entries] == ["a", "b"]
    assert result.trim_report is None
    short = engine.scan(scan_input.with_(budget=result.total_tokens - 1))
    assert len(short.activated_entries) == 1
    assert short.trim_report is not None
    assert short.trim_report.eviction_count == 1


def test_a_message_has_its_index_and_what_else_it_carries_is_metadata() -> None:
    history = [{"role": "user", "content": "Hi", "id": "m-1"}, Message(role="assistant", content="Hm?")]
    built = build(character=MIRA, user=ROBIN, history=history)
    said = built.plan.blocks_of("history")
    assert [block.source["id"] for block in said] == ["message:0", "message:1"]
    assert said[0].to_message().metadata["id"] == "m-1"


def test_build_hooks_see_one_build_and_load_hooks_none() -> None:
    hooks, seen, loaded = BuildHooks(), [], []
    load_hooks = LoadHooks()
    load_hooks.on_load("app", loaded.append)
    load_hooks.run("app", hooks)
    hooks.before_build(lambda ctx: seen.append(("before", ctx.plan is None)))
    hooks.after_build(lambda ctx: seen.append(("after", ctx.plan is None)))
    for _ in range(2):
        build(character=MIRA, user=ROBIN, hooks=hooks)
    assert seen == [("before", True), ("after", False)] * 2
    assert loaded == [hooks]


def test_a_trim_report_adds_up() -> None:
    blocks = [Block(role="user", content="x" * 40, token_budget_group="history") for _ in range(3)]
    trimmer, estimator = Trimmer("group_order"), CharacterRatio()
    report = trimmer.trim(blocks, budget=25, estimator=estimator).report
    assert (report.strategy, report.budget_tokens, report.over_budget) == ("group_order", 25, True)
    assert report.eviction_count == len(report.evictions) == 1
    assert (
        report.tokens_saved
        == report.initial_tokens - report.final_tokens
        == sum(record.token_count for record in report.evictions)
    )
    assert not trimmer.trim(blocks, budget=1000, estimator=estimator).report.over_budget


def test_a_trace_adds_up_and_says_whether_the_build_succeeded() -> None:
    trace = build(character=MIRA, user=ROBIN, message="Hi {{roll}}", trace=True).plan.trace
    assert trace is not None
    assert trace.is_success
    assert trace.duration_ms == sum(stage.duration_ms for stage in trace.stages)
    assert trace.started_at <= trace.finished_at
    collector = TraceCollector()
    with pytest.raises(ValueError, match="character="):
        build(user=ROBIN, instrumenter=collector)
    assert not trace.with_(stages=collector.stages).is_success


def test_a_plan_speaks_openais_dialect_unless_another_is_named() -> None:
    plan = Plan(blocks=(Block(role="user", content="Hi"),))
    assert plan.to_messages() == plan.to_messages(dialect="openai") == [{"role": "user", "content": "Hi"}]
    assert plan.to_messages(dialect="text") == "user: Hi\nassistant:"


def test_nobody_watches_unless_asked_to() -> None:
    assert Context().instrumenter is None
    assert build(character=MIRA, user=ROBIN).plan.trace is None


def test_what_is_built_is_written_as_json_and_its_keys_are_the_names_of_fields() -> None:
    built = build(character=MIRA, user=ROBIN, message="Hi")
    written = json.loads(built.encode())
    assert set(written["plan"]["blocks"][0]) <= set(Block.__struct_fields__)
