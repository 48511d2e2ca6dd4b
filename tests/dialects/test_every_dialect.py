"""What holds for all dialects."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dialects.schemas import SCHEMAS, validate
from tests.dialects.strategies import conversations

from tavernkit import Block, Plan, dialects
from tavernkit.dialects import DialectOptions, PostProcessing, SpeakerNames, WireMessage
from tavernkit.errors import DialectError, UnknownDialectError
from tavernkit.prompt.message import Attachment, Message

PEOPLE = SpeakerNames(char="Vesper", user="Orrin", group=("Vesper", "Old Brock"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
loose_calls = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": json_values,
            "function": st.fixed_dictionaries(
                {}, optional={"name": st.sampled_from(["f", None]), "arguments": st.just("{oops") | json_values}
            ),
        },
    ),
    max_size=2,
)
loose_parts = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image_url", "audio_url", "input_audio", "file", "mystery", ["x"], None])},
        optional={
            "text": st.text(max_size=5) | json_values,
            "image_url": st.fixed_dictionaries({"url": st.sampled_from(["data:image/png;base64,AA==", "x", ""])})
            | json_values,
            "file": st.fixed_dictionaries({"file_data": st.sampled_from(["data:text/plain;base64,/w==", "data:"])})
            | json_values,
            "input_audio": json_values,
        },
    ),
    max_size=3,
)
loose_messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool", "narrator", "", 3])},
        optional={
            "content": st.text(max_size=8) | st.none() | loose_parts | json_values,
            "name": st.sampled_from(["", "Orrin", "example_user", "example_assistant", None, 5]),
            "tool_calls": loose_calls | json_values,
            "tool_call_id": st.sampled_from(["a", "", None, 7]),
            "signature": st.just("sig"),
            "cache_control": st.just({"type": "ephemeral"}),
        },
    ),
    max_size=4,
)


@pytest.mark.parametrize("dialect", sorted(SCHEMAS))
@given(data=st.data())
def test_what_is_written_is_what_the_provider_documents(dialect: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(dialect))
    lifted = data.draw(st.booleans())
    prefill = data.draw(st.sampled_from(["", "Sure,"]))
    validate(dialect, dialects.convert(messages, dialect, names=PEOPLE, use_system_prompt=lifted, prefill=prefill))


@pytest.mark.parametrize("dialect", sorted(SCHEMAS))
@pytest.mark.parametrize("mode", ["merge_tools", "semi_tools", "strict_tools"])
@settings(max_examples=15)
@given(data=st.data())
def test_post_processing_leaves_it_valid(dialect: str, mode: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(dialect))
    validate(dialect, dialects.convert(messages, dialect, names=PEOPLE, post_processing=mode))


@pytest.mark.parametrize("dialect", sorted(SCHEMAS))
@given(messages=loose_messages, mode=st.sampled_from(get_args(PostProcessing)), options=st.booleans())
def test_loose_input_is_written_or_refused_and_never_changed(
    dialect: str, messages: list[Any], mode: PostProcessing, options: bool
) -> None:
    before = deepcopy(messages)
    try:
        written = dialects.convert(
            messages,
            dialect,
            names=PEOPLE,
            post_processing=mode,
            use_tools=options,
            use_system_prompt=options,
            model="gemini-3-pro-image-preview",
            cache_depth=0,
            cache_system=options,
            prefix_field="prefix",
        )
    except DialectError:
        pass
    else:
        json.dumps(written)
    assert messages == before


@pytest.mark.parametrize("dialect", sorted(SCHEMAS))
@settings(max_examples=30)
@given(data=st.data())
def test_a_message_and_its_mapping_are_written_alike(dialect: str, data: st.DataObject) -> None:
    messages = [message.with_(attachments=()) for message in data.draw(conversations(dialect))]
    mappings = [
        {"role": message.role, "content": message.content, **message.metadata}
        | ({"name": message.name} if message.name else {})
        for message in messages
    ]
    assert dialects.convert(messages, dialect, names=PEOPLE) == dialects.convert(mappings, dialect, names=PEOPLE)


def test_the_dialects_are_those_with_a_schema() -> None:
    assert set(SCHEMAS) <= set(dialects.names())


def test_an_unknown_dialect_is_refused_with_the_known_names() -> None:
    with pytest.raises(UnknownDialectError, match=r"No dialect named 'klingon'\. Known: ai21, anthropic, .*xai"):
        dialects.convert([], "klingon")


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="option 'prefil'"):
        dialects.convert([], prefil="Sure,")


def test_an_unknown_post_processing_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'stirct'"):
        dialects.convert([], post_processing="stirct")


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("hello", "expected a Message or a mapping, found str"),
        ({"content": "x"}, "it has no role"),
        ({"role": "user", "content": 5}, "content must be text or a list of parts"),
        ({"role": "user", "content": ["x"]}, "each part of a content list must be an object"),
        ({"role": "user", "content": [{"type": "text"}]}, "a text part must have a text"),
        ({"role": "user", "name": 5}, "name must be text"),
        ({"role": "assistant", "tool_calls": "f"}, "tool_calls must be a list"),
        ({"role": "assistant", "tool_calls": [{}]}, "must be an object with a function"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "must say the function's name"),
    ],
)
def test_a_message_that_cannot_be_read_is_named_by_its_position(message: Any, problem: str) -> None:
    with pytest.raises(DialectError, match=f"^Message 1: .*{problem}"):
        dialects.convert([{"role": "user", "content": "fine"}, message])


def test_attachments_that_a_provider_does_not_take_are_refused() -> None:
    clip = Message(role="user", attachments=(Attachment(kind="audio", mime_type="audio/wav", data=b"RIFF"),))
    with pytest.raises(DialectError, match="Message 0: the anthropic format takes no attachment of kind 'audio'"):
        dialects.convert([clip], "anthropic")


def test_attachments_are_bytes_or_an_address() -> None:
    with pytest.raises(DialectError, match="either data or a url"):
        dialects.convert([Message(role="user", attachments=(Attachment(data=b"x", url="https://example.invalid"),))])


def test_system_messages_carry_no_attachments() -> None:
    with pytest.raises(DialectError, match="Give them to a user message"):
        dialects.convert([Message(role="system", attachments=(Attachment(data=b"x"),))])


def test_the_builders_own_metadata_is_not_sent() -> None:
    message = Message(role="assistant", content="hi", metadata={"source": "card", "signature": "sig"})
    assert dialects.convert([message]) == [{"role": "assistant", "content": "hi", "signature": "sig"}]


def test_anyone_can_register_a_dialect() -> None:
    def shout(messages: Any, options: DialectOptions) -> str:
        return " ".join(str(message.body).upper() for message in messages) + options.prefill

    dialects.register("shout", shout)
    assert "shout" in dialects.names()
    assert dialects.get("shout") is shout
    assert dialects.convert([Message(role="user", content="hi")], "shout", prefill="!") == "HI!"


def test_a_dialect_may_have_options_of_its_own() -> None:
    def repeated(messages: Any, options: DialectOptions) -> str:
        return " ".join(str(message.body) for message in messages) * int(options.own.get("times", 1))

    dialects.register("repeated", repeated, options=["times"])
    plan = Plan(blocks=(Block(role="user", content="hi"),), dialect_options={"times": 2})
    assert plan.to_messages("repeated") == "hihi"
    assert plan.to_messages("repeated", times=3) == "hihihi"
    assert plan.to_messages("text") == "user: hi\nassistant:"
    with pytest.raises(TypeError, match="No dialect has an option 'time'"):
        plan.to_messages("repeated", time=3)
    with pytest.raises(ValueError, match="Every dialect has the option 'model'"):
        dialects.register("other", repeated, options=["model"])


def test_a_registered_name_is_replaced_only_on_request() -> None:
    def quiet(messages: Any, options: DialectOptions) -> str:
        return ""

    dialects.register("quiet", quiet)
    with pytest.raises(ValueError, match="'quiet' is registered"):
        dialects.register("quiet", quiet)

    def whisper(messages: Any, options: DialectOptions) -> str:
        return "…"

    dialects.register("quiet", whisper, replace=True)
    assert dialects.convert([], "quiet") == "…"


def test_dialects_can_be_called_without_the_door() -> None:
    write = dialects.get("text")
    assert write([WireMessage(role="user", content="Hello?")], DialectOptions()) == "user: Hello?\nassistant:"


PAGE = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*DialectOptions.__struct_fields__, *SCHEMAS, *get_args(PostProcessing)])
def test_every_option_dialect_and_mode_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE
