"""Cache breakpoints and the mark of a begun reply, as application code uses them."""

from __future__ import annotations

from typing import Any

from tavernkit.dialects import cache_at_depth, cache_control, cache_system_prompt, mark_assistant_prefix

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u1"},
    {"role": "assistant", "content": "a1"},
    {"role": "system", "content": "note"},
    {"role": "user", "content": "u2"},
    {"role": "user", "content": "u3"},
    {"role": "assistant", "content": "prefill"},
]


def marked(messages: Any) -> list[int]:
    return [index for index, message in enumerate(messages) if "cache_control" in str(message["content"])]


def test_a_breakpoint_may_say_how_long() -> None:
    assert cache_control() == cache_control("") == {"type": "ephemeral"}
    assert cache_control("1h") == {"type": "ephemeral", "ttl": "1h"}


def test_depth_counts_turns_from_the_end_without_prefill_and_system() -> None:
    assert [marked(cache_at_depth(CHAT, depth)) for depth in range(4)] == [[1, 5], [2], [1], []]


def test_an_assistant_message_before_a_last_note_begins_no_reply() -> None:
    chat = [*CHAT, {"role": "system", "content": "note"}]
    assert [marked(cache_at_depth(chat, depth)) for depth in range(3)] == [[2, 6], [1, 5], [2]]


def test_the_last_part_is_marked_and_nothing_is_marked_in_an_empty_message() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    [message] = cache_at_depth([{"role": "user", "content": parts}], 0, "5m")
    assert message["content"] == [parts[0], {**parts[1], "cache_control": cache_control("5m")}]
    assert cache_at_depth([{"role": "user", "content": []}], 0) == [{"role": "user", "content": []}]


def test_the_first_system_message_is_marked_at_its_last_text() -> None:
    assert marked(cache_system_prompt(CHAT)) == [0]
    picture = {"type": "image_url"}
    [message] = cache_system_prompt([{"role": "system", "content": [{"type": "text", "text": "a"}, picture]}], "1h")
    assert message["content"] == [{"type": "text", "text": "a", "cache_control": cache_control("1h")}, picture]


def test_a_system_message_that_is_marked_already_is_left_alone() -> None:
    whole = {"role": "system", "content": "x", "cache_control": cache_control()}
    part = {
        "role": "system",
        "content": [{"type": "text", "text": "a", "cache_control": cache_control()}, {"type": "text", "text": "b"}],
    }
    assert cache_system_prompt([whole], "1h") == [whole]
    assert cache_system_prompt([part], "1h") == [part]


def test_a_begun_reply_is_marked_unless_tools_are_offered() -> None:
    assert mark_assistant_prefix(CHAT, "partial")[-1] == {**CHAT[-1], "partial": True}
    assert mark_assistant_prefix(CHAT, tools=[{"type": "function"}]) == CHAT
    assert mark_assistant_prefix([]) == []
