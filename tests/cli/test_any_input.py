"""Whatever a file holds, a command ends with a documented exit code and never with a traceback."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.characters import card_files
from tests.cli.running import run
from tests.strategies import cards, json_values

REAL = [
    card_files.png(card_files.text("ccv3", card_files.packed(card_files.v3()))),
    card_files.charx(card_files.v3(), **{"assets/a.bin": b"a"}),
    json.dumps(card_files.v2()).encode(),
    card_files.byaf(),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real file, cut off or with a few bytes changed."""
    data = bytearray(draw(st.sampled_from(REAL)))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(len(data) // 2, len(data)))])


@given(data=damaged() | st.binary(max_size=60))
@pytest.mark.parametrize(
    "command",
    [
        *(("card", "show"), ("card", "validate"), ("lore", "show"), ("tokens",), ("prompt",)),
        *(("preset", "show"), ("preset", "validate"), ("preset", "convert", "--to", "chat")),
    ],
)
def test_damaged_files(command: tuple[str, ...], data: bytes) -> None:
    assert run(*command, "-", stdin=data).code in (0, 1, 2, 3)


@given(cards)
def test_any_card_can_be_shown(card: object) -> None:
    data = json.dumps(card).encode()
    assert run("card", "show", "-", stdin=data).code == 0
    assert run("card", "show", "-", "--json", stdin=data).document["name"] != ""


@given(cards)
def test_any_card_makes_a_prompt(card: object) -> None:
    assert run("prompt", "-", "--json", stdin=json.dumps(card).encode()).code in (0, 1)


@given(json_values | st.lists(st.fixed_dictionaries({"role": json_values, "content": json_values}), max_size=3))
def test_any_json_as_history(history: object) -> None:
    assert run("prompt", "--history", "-", "--json", stdin=json.dumps(history).encode()).code in (0, 2)


@given(st.lists(json_values, max_size=3))
def test_any_json_as_recorded_cases(cases: list[object]) -> None:
    vectors = {"source": "SillyTavern 1.15.0", "group": "card_book", "cases": cases}
    assert run("conformance", "-", stdin=json.dumps(vectors).encode()).code in (0, 1, 2)


presets = st.fixed_dictionaries(
    {"prompts": json_values | st.lists(st.fixed_dictionaries({"identifier": json_values, "role": json_values}))},
    optional={
        **dict.fromkeys(("temperature", "openai_max_tokens", "wi_format", "extensions", "main_prompt"), json_values),
        "prompt_order": json_values
        | st.lists(st.fixed_dictionaries({"character_id": st.just(100001), "order": st.lists(json_values)})),
    },
)


@given(
    presets
    | st.fixed_dictionaries({"promptTemplate": json_values | st.lists(json_values)}, optional={"regex": json_values})
    | st.fixed_dictionaries({"instruct": json_values, "context": json_values, "preset": json_values})
)
def test_any_preset_can_be_shown_checked_and_converted(preset: object) -> None:
    data = json.dumps(preset).encode()
    assert run("preset", "show", "-", stdin=data).code in (0, 2)
    assert run("preset", "validate", "-", "--strict", stdin=data).code in (0, 1)
    for to in ("chat", "risuai-json", "master"):
        assert run("preset", "convert", "-", "--to", to, stdin=data).code in (0, 2)
