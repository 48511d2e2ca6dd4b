"""The user's latest message, where there is no room for it: told by a warning, or kept if the caller wants it."""

from collections.abc import Callable
from typing import Any

import pytest

from tavernkit import (
    BudgetPreset,
    Character,
    Plan,
    TokenBudgetExceeded,
    User,
    build,
    plain_pipeline,
    risuai,
    sillytavern,
)
from tavernkit.prompt.context import Context
from tavernkit.sillytavern.presets import ChatPreset, TextPreset

MIRA, ADA = Character(name="Mira"), User(name="Ada")
QUESTION = "Where does the ferry land? " * 20
ANSWER = "Behind the lighthouse, where the old rope hangs. " * 20
CHAT = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": ANSWER},
    {"role": "assistant", "content": "Mind the third step."},
]


def by_priority(ctx: Context) -> None:
    """Give the user's message the lowest priority, so that a build by priority would leave it out first."""
    ctx.blocks = [
        block.with_priority(0) if block.source["id"] == ctx.user_message else block.with_priority(900)
        for block in ctx.blocks
    ]


def plain(**inputs: Any) -> Plan:
    pipeline = plain_pipeline().insert_before("before_trimming", "priorities", by_priority)
    preset = BudgetPreset(context_window_tokens=360, reserved_response_tokens=0)
    return build(pipeline=pipeline, preset=preset, trim_strategy="priority", **inputs).plan


def chat(**inputs: Any) -> Plan:
    return sillytavern.build(preset=ChatPreset(openai_max_context=350, openai_max_tokens=50), **inputs).plan


def text(**inputs: Any) -> Plan:
    return sillytavern.build(preset=TextPreset(max_length=330, genamt=50), **inputs).plan


def risu(**inputs: Any) -> Plan:
    return risuai.build(preset=risuai.RisuSettings(max_context=400, max_response=50, main_prompt=""), **inputs).plan


PLATFORMS = pytest.mark.parametrize("platform", [plain, chat, text, risu])


def told(platform: Callable[..., Plan], **inputs: Any) -> Plan:
    return platform(character=MIRA, user=ADA, history=CHAT, **inputs)


def says(plan: Plan, words: str) -> bool:
    return any(words.strip() in message.content for message in plan.messages)


@PLATFORMS
def test_a_user_message_without_room_is_left_out_with_a_warning_of_its_own(platform: Callable[..., Plan]) -> None:
    plan = told(platform)
    assert not says(plan, QUESTION)
    (warning,) = [warning for warning in plan.warnings if warning.code == "user_message_dropped"]
    assert warning.where == {"source": "message:0"}
    with pytest.raises(TokenBudgetExceeded):
        told(platform, strict=True)


@PLATFORMS
def test_a_user_message_that_is_kept_takes_the_room_of_others(platform: Callable[..., Plan]) -> None:
    plan = told(platform, keep_user_message=True)
    assert says(plan, QUESTION)
    assert not says(plan, ANSWER)
    assert "user_message_dropped" not in [warning.code for warning in plan.warnings]


@PLATFORMS
def test_a_strategy_that_is_not_the_platforms_is_warned_about(platform: Callable[..., Plan]) -> None:
    plan = platform(
        character=MIRA, user=ADA, message="Hi", **({} if platform is plain else {"trim_strategy": "priority"})
    )
    assert plan.trim_report is not None
    ignored = [warning.where for warning in plan.warnings if warning.code == "trim_strategy_ignored"]
    assert ignored == ([] if platform is plain else [{"strategy": plan.trim_report.strategy}])
