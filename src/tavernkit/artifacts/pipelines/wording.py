"""The user's current message: what was typed, and what steps have made of it."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.artifacts.pipelines.planning import Planned, Records
from tavernkit.artifacts.pipelines.steps import MessageTransformStep
from tavernkit.values import Value


class Wording(Value, frozen=True, kw_only=True):
    """The user's current message as a step has put it."""

    pipeline: str
    step: str
    label: str
    text: str
    selected: bool


def wordings(items: Iterable[Planned], records: Records) -> tuple[Wording, ...]:
    """What these steps have made of the message, in their order."""
    return tuple(
        Wording(
            pipeline=item.pipeline.id,
            step=item.step.id,
            label=item.step.label,
            text=str(records[item.key].value),
            selected=item.step.select,
        )
        for item in items
        if isinstance(item.step, MessageTransformStep) and records[item.key].status == "done"
    )


def told_wording(made: Iterable[Wording], typed: str) -> str:
    """The wording that is told: the last that is selected, else what was typed."""
    return next((wording.text for wording in reversed(tuple(made)) if wording.selected), typed)
