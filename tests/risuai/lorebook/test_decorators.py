"""What stands in front of an entry's content."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.lorebook import InjectionOperation, LoreInjection, read_decorators


def test_decorators_are_the_leading_lines_and_the_rest_is_the_content() -> None:
    told = read_decorators("\n @@depth 3 \n@@role user\nBody.\n@@role system\n")

    assert (told.depth, told.position, told.role, told.content) == (3, "depth", "user", "Body.\n@@role system")


def test_a_blank_line_ends_them() -> None:
    assert read_decorators("@@depth 3\n\n@@role user\nBody.").content == "@@role user\nBody."


@pytest.mark.parametrize(
    ("line", "depth", "position"),
    [
        ("@@depth 2.7", 2, "depth"),
        ("@@depth 3,4", 3, "depth"),
        ("@@reverse_depth 2", 2, "reverse_depth"),
        ("@@end", 0, "depth"),
        ("@@@end", 0, "depth"),
        ("@@position pt_intro", 0, "pt_intro"),
        ("@@position scenario", 0, "scenario"),
        ("@@depth x", 0, ""),
        ("@@depth\t3", 0, ""),
        ("@@depth=3", 0, ""),
        ("@@instruct_depth 3", 0, ""),
    ],
)
def test_where_an_entry_goes(line: str, depth: int, position: str) -> None:
    told = read_decorators(f"{line}\nBody.")

    assert (told.depth, told.position, told.content) == (depth, position, "Body.")


def test_a_fallback_counts_only_after_a_decorator_that_was_rejected() -> None:
    told = read_decorators("@@bogus\n@@@depth 2\n@@@role user\nBody.")

    assert (told.depth, told.role) == (2, "system")


def test_remembering_a_match_counts_as_rejected() -> None:
    assert read_decorators("@@keep_activate_after_match\n@@@role user\nBody.").role == "user"


def test_numbers_that_are_none_mean_the_whole_chat_always_and_no_priority() -> None:
    told = read_decorators("@@scan_depth x\n@@probability x\n@@priority x")

    numbers = [told.scan_depth, told.priority, *told.probabilities]
    assert [number is not None and math.isnan(number) for number in numbers] == [True, True, True]


def test_the_last_injection_decides_where_and_how() -> None:
    told = read_decorators("@@inject_prepend\n@@inject_lore Some\n@@inject_at main, jailbreak\nx")

    assert told.injection == LoreInjection(operation=InjectionOperation.PREPEND, location="main jailbreak", lore=False)


def test_what_cannot_be_read_is_told_in_sentences() -> None:
    told = read_decorators("@@role char\n@@depth\n@@position\n@@unknown 1\nx")

    assert told.problems == (
        "@@role takes user, assistant, system, and was given “char”.",
        "@@depth needs a whole number and was given nothing.",
        "@@position takes after_desc, before_desc, personality, scenario, pt_…, and was given nothing.",
    )


@given(st.text(alphabet="@ dep th3,\n\tx", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    told = read_decorators(text)

    assert told.content in text
