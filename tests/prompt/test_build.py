import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tavernkit import (
    Book,
    BudgetPreset,
    BuildHooks,
    BuildInputs,
    Character,
    Context,
    Entry,
    Injection,
    Injections,
    Message,
    MissingInputError,
    Plan,
    TokenBudgetExceeded,
    TraceCollector,
    User,
    build,
    example,
    risuai,
    sillytavern,
)

MIRA = Character(name="Mira", description="{{char}} paints {{user}}.", first_mes="Hello, {{user}}.")
ROBIN = User(name="Robin", persona="Robin is tired.")


def contents(plan: Plan) -> list[str]:
    return [message.content for message in plan.messages]


def slots(plan: Plan) -> list[str | None]:
    return [block.slot for block in plan.enabled_blocks]


def plain(**inputs: Any) -> Plan:
    return build(**{"character": MIRA, "user": ROBIN, **inputs}).plan


def test_the_bundled_example_builds_a_real_prompt() -> None:
    plan = build(
        character=example.character(), user=example.user(), history=example.history(), message="What does it say?"
    ).plan
    messages = plan.to_messages("openai")
    assert messages[0]["role"] == "system"
    assert messages[-1]["role"] == "user"
    assert messages[-1]["content"] == "What does it say?"
    assert not any("{{" in message["content"] for message in messages)
    assert any("The ledger: every letter" in message["content"] for message in messages)
    assert plan.warnings == ()


@pytest.mark.parametrize("platform", [build, sillytavern.build, risuai.build])
def test_an_unknown_generation_type_is_refused_with_the_types_that_there_are(platform: Callable[..., Plan]) -> None:
    with pytest.raises(ValueError, match=r"generation_type is 'nomral'; it must be one of 'normal', 'continue', .*"):
        platform(character=MIRA, user=ROBIN, generation_type="nomral")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Injection(id="a", content="b", position="chats"), "The position of an injection is 'chats'"),
        (lambda: Injection(id="a", content="b").with_(position=""), "The position of an injection is ''"),
        (lambda: sillytavern.AuthorsNote(position="chats"), "The position of an author's note is 'chats'"),
        (lambda: sillytavern.AuthorsNote(role="tool"), "The role of an author's note is 'tool'"),
        (lambda: sillytavern.PersonaPlace(role="tool"), "The role of a persona is 'tool'"),
        (
            lambda: sillytavern.ExtensionPrompt(key="a", content="b", position="in"),
            "The position of an extension prompt",
        ),
    ],
)
def test_an_unknown_position_or_role_is_refused_with_those_that_there_are(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=rf"{sentence}.*; it must be one of '\w+', '\w+'"):
        make()


def test_names_are_put_in_and_the_greeting_waits_on_the_plan() -> None:
    plan = plain(message="Hi")
    assert "Mira paints Robin." in contents(plan)
    assert plan.greeting == "Hello, Robin."
    assert plain(history=[{"role": "assistant", "content": "Hello."}]).greeting is None


def test_the_order_is_character_examples_history_message_and_last_words() -> None:
    card = MIRA.with_(
        personality="calm",
        scenario="a studio",
        mes_example="<START>\nA\n<START>\nB",
        post_history_instructions="Stay short.",
    )
    plan = plain(character=card, history=[{"role": "assistant", "content": "Hm."}], message="Hi")
    assert slots(plan) == [
        "main",
        "description",
        "personality",
        "scenario",
        "persona",
        "examples",
        "examples",
        "history",
        "history",
        "post_history_instructions",
    ]


def test_a_cards_system_prompt_can_build_on_the_original() -> None:
    plan = plain(character=MIRA.with_(system_prompt="Be brief. {{original}}"))
    assert contents(plan)[0].startswith("Be brief. You are Mira")


def test_every_block_says_where_it_came_from() -> None:
    plan = build(character=example.character(), user=example.user(), history=example.history(), message="Hi").plan
    assert all(set(block.source) == {"stage", "id"} for block in plan.blocks)
    assert {block.source["stage"] for block in plan.blocks} == {"character", "lore", "examples", "history"}


def test_lore_wakes_by_what_was_said_and_stands_around_the_character() -> None:
    book = Book(
        entries=(
            Entry(id="1", keys=("moon",), content="The moon is red.", position="before_char"),
            Entry(id="2", keys=("sun",), content="The sun is far."),
            Entry(id="3", content="Always.", constant=True),
        )
    )
    plan = plain(books=[book], message="Look at the MOON")
    assert slots(plan)[:2] == ["main", "lore_before"]
    assert "The moon is red." in contents(plan)
    assert "Always." in contents(plan)
    assert "The sun is far." not in contents(plan)


def test_lore_that_does_not_fit_is_warned_about() -> None:
    book = Book(token_budget=3, entries=(Entry(id="1", content="word " * 50, constant=True),))
    plan = plain(books=[book])
    assert [warning.code for warning in plan.warnings] == ["lore_over_budget"]


def test_injections_stand_where_they_ask_to() -> None:
    def at(position: Any, depth: int = 0) -> Injections:
        return Injections(Injection(id="i", content="INJECTED", position=position, depth=depth))

    talk = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}]
    assert contents(plain(history=talk, message="3", injections=at("chat", 0)))[-2:] == ["3", "INJECTED"]
    assert contents(plain(history=talk, message="3", injections=at("chat", 1)))[-2:] == ["INJECTED", "3"]
    assert contents(plain(history=talk, message="3", injections=at("chat", 99)))[-4:] == ["INJECTED", "1", "2", "3"]
    assert contents(plain(history=talk, message="3", injections=at("before")))[0] == "INJECTED"
    assert contents(plain(history=talk, message="3", injections=at("after")))[-4:] == ["INJECTED", "1", "2", "3"]
    assert "INJECTED" not in contents(plain(history=talk, injections=at("none")))


def test_injections_at_one_place_keep_the_order_of_their_ids() -> None:
    both = Injections(Injection(id="b", content="second", depth=0), Injection(id="a", content="first", depth=0))
    assert contents(plain(message="x", injections=both))[-3:] == ["x", "first", "second"]


def test_an_injection_may_wake_lore_without_being_shown() -> None:
    book = Book(entries=(Entry(id="1", keys=("moon",), content="The moon is red."),))
    hidden = Injections(Injection(id="i", content="moon", position="none", scan=True))
    assert "The moon is red." in contents(plain(books=[book], injections=hidden))


def test_only_names_of_third_persons_are_sent() -> None:
    talk = [
        {"role": "assistant", "content": "1", "name": "Mira"},
        {"role": "user", "content": "2", "name": "Robin"},
        {"role": "assistant", "content": "3", "name": "Brock"},
    ]
    assert [block.name for block in plain(history=talk).blocks if block.slot == "history"] == [None, None, "Brock"]


def test_hooks_may_supply_inputs_and_add_blocks_that_count() -> None:
    hooks = BuildHooks()

    @hooks.before_build
    def bring_a_character(ctx: Context) -> None:
        ctx.character = MIRA

    @hooks.before_trimming
    def add(ctx: Context) -> None:
        ctx.add_block(source="hook", content="From a hook.", removable=False)

    plan = build(user=ROBIN, hooks=hooks, message="Hi").plan
    assert contents(plan)[-1] == "From a hook."
    tight = BudgetPreset(context_window_tokens=1020, reserved_response_tokens=1000)
    with pytest.raises(TokenBudgetExceeded):
        build(user=ROBIN, hooks=hooks, preset=tight)


def test_a_long_chat_is_trimmed_to_the_window_and_the_plan_says_so() -> None:
    history = [{"role": "user" if n % 2 else "assistant", "content": f"line {n} " * 20} for n in range(1000)]
    preset = BudgetPreset(context_window_tokens=2000, reserved_response_tokens=500)
    plan = plain(history=history, message="now", preset=preset)
    assert plan.trim_report is not None
    assert plan.trim_report.final_tokens <= 1500
    assert contents(plan)[-1] == "now"
    assert plan.metadata["history_omitted"] + plan.trim_report.eviction_count > 900
    assert [warning.code for warning in plan.warnings] == ["trimmed"]
    with pytest.raises(TokenBudgetExceeded):
        plain(history=history, message="now", preset=preset, strict=True)


def test_history_is_read_from_its_end_only() -> None:
    class Watched:
        """A chat of a million messages that counts how far anybody looks back."""

        looked = 0

        def __iter__(self) -> Any:
            raise AssertionError("the whole chat was read")

        def __len__(self) -> int:
            return 1_000_000

        def last(self, count: int) -> list[Message]:
            self.looked = max(self.looked, count)
            return [Message(role="user", content="word " * 100) for _ in range(count)]

        def count_role(self, role: str) -> int:
            return 0

        def append(self, message: Message) -> None: ...

        def clear(self) -> None: ...

    history = Watched()
    plain(history=history, preset=BudgetPreset(context_window_tokens=4096))
    assert 0 < history.looked <= 256


def test_macros_beyond_names_stay_and_are_warned_about() -> None:
    plan = plain(character=MIRA.with_(description="{{roll:d6}}"))
    assert "{{roll:d6}}" in contents(plan)
    assert [warning.code for warning in plan.warnings] == ["unexpanded_macro"]


def test_a_missing_character_is_an_error_of_its_own() -> None:
    with pytest.raises(MissingInputError):
        build(user=ROBIN)


def test_an_unknown_input_is_refused() -> None:
    with pytest.raises(TypeError, match="charakter"):
        build(charakter=MIRA)


def test_the_context_has_every_typed_input() -> None:
    assert all(hasattr(Context(), name) for name in BuildInputs.__annotations__)


def test_a_traced_build_has_every_stage_with_its_counters() -> None:
    plan = plain(message="Hi", trace=True)
    assert plan.trace is not None
    assert [stage.name for stage in plan.trace.stages] == [
        "hooks", "lore", "character", "examples", "history", "injections", "macros", "before_trimming", "trimming",
    ]  # fmt: skip
    stats = {stage.name: stage.stats for stage in plan.trace.stages}
    assert stats["trimming"]["final_tokens"] > 0
    assert stats["trimming"]["blocks"] == len(plan.blocks)
    assert plan.trace.is_success
    assert plan.trace.fingerprint == plan.fingerprint()
    assert plan.trace.duration_ms >= 0


def test_trace_and_an_instrumenter_of_ones_own_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not both"):
        plain(trace=True, instrumenter=TraceCollector())


def test_fingerprints_ignore_block_ids_but_not_words() -> None:
    first = plain(message="Hi", ids=iter(f"x{n}" for n in range(99)).__next__)
    second = plain(message="Hi", ids=iter(f"y{n}" for n in range(99)).__next__)
    assert [block.id for block in first.blocks] != [block.id for block in second.blocks]
    assert first.fingerprint() == second.fingerprint()
    assert first.fingerprint() != plain(message="Ho").fingerprint()
    assert first.fingerprint("anthropic") != first.fingerprint("openai")


FINGERPRINT = """
from tavernkit import build, example
built = build(character=example.character(), user=example.user(), history=example.history(), message="Hi")
print(built.plan.fingerprint())
"""


def test_another_process_builds_the_same_prompt() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("make", [build, sillytavern.build, risuai.build])
def test_help_shows_every_input_with_a_sentence(make: Callable[..., object]) -> None:
    inputs = inspect.signature(make).parameters
    assert inputs.keys() >= {*BuildInputs.__annotations__, "pipeline", "trace"}
    told = dict(re.findall(r"^(\w+) {2,}(\S.+)$", inspect.getdoc(make) or "", re.MULTILINE))
    assert told.keys() == inputs.keys()


def test_the_platforms_are_imported_when_they_are_first_used() -> None:
    program = (
        "import sys, tavernkit; assert 'tavernkit.sillytavern' not in sys.modules;"
        "tavernkit.sillytavern.build; tavernkit.risuai.build"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_plan_says_what_it_has_and_what_it_costs() -> None:
    said = [{"role": "user", "content": "word " * 50}, {"role": "user", "content": "Last."}]
    plan = plain(history=said, preset=BudgetPreset(context_window_tokens=130, reserved_response_tokens=40))
    assert plan.trim_report is not None
    assert [plan.block(record.block_id) for record in plan.trim_report.evictions] == list(plan.left_out)
    assert [block.content for block in plan.blocks_of("history")] == ["Last."]
    assert sum(plan.tokens().values()) == sum(block.tokens() for block in plan.enabled_blocks)
    with pytest.raises(KeyError, match="no block with the id 'nobody'"):
        plan.block("nobody")
