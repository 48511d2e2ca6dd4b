"""Recorded renderings of LiquidJS, done by our templates: the same text, or an error where it had one, as early."""

from __future__ import annotations

from datetime import UTC, datetime

from tavernkit.artifacts.liquid import LiquidOptions, LiquidTemplate
from tavernkit.conformance.vectors import Case, Outcome
from tavernkit.errors import LiquidError
from tavernkit.text.seeded import SeededRandom
from tavernkit.values import Json

CLOCK = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


def check(case: Case) -> Outcome:
    """What was recorded and what we do; of an error, whether it came while reading or while rendering."""
    recorded = {"output": case["output"]} if "output" in case else {"error": True, "stage": case["stage"]}
    return recorded, _outcome(case)


def _outcome(case: Case) -> dict[str, Json]:
    switches = case["options"]
    options = LiquidOptions(
        strict_variables=switches["strictVariables"],
        strict_filters=switches["strictFilters"],
        lenient_if=switches.get("lenientIf", False),
        preserve_timezones=switches.get("preserveTimezones", False),
        partials=switches["templates"],
    )
    try:
        template = LiquidTemplate.parse(case["template"], options=options)
    except LiquidError:
        return {"error": True, "stage": "parse"}
    random = SeededRandom(str(case.get("id", "")))
    try:
        return {"output": template.render(case["context"], clock=lambda: CLOCK, random=random.random)}
    except LiquidError:
        return {"error": True, "stage": "render"}
