"""Recorded cases of other applications through the functions that the page shows messages by."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from tavernkit import Character, User
from tavernkit.conformance import read_vectors
from tavernkit.conformance.risuai import recorded_scene
from tavernkit.conformance.vectors import Case
from tavernkit.playground.story.prompting.scripts import MessageToShow, StoryTexts, Voice, show_in_scene, show_text
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.sillytavern.regex_scripts import (
    Placement,
    RegexBudget,
    RegexScript,
    RegexScripts,
    embedded_scripts,
)
from tavernkit.text.time_budget import TimeBudget

RECORDED = Path(__file__).parents[2] / "conformance"


def shown_by_sillytavern(case: Case, scripts: RegexScripts, placement: int, depth: int | None = None) -> str:
    env = case["env"]
    voice = Voice(
        member_id=uuid4(),
        platform="sillytavern",
        engine="1.19",
        card=Character(name=env["char"]),
        scripts=scripts,
    )
    texts = StoryTexts(
        voices={voice.member_id: voice},
        user=User(name=env["user"]),
        state=env.get("local_vars") or {},
        global_variables=env.get("global_vars") or {},
    )
    message = MessageToShow(
        id=uuid4(),
        member_id=voice.member_id,
        role="assistant",
        text=case["text"] if isinstance(case["text"], str) else "",
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        depth=depth,
    )
    return show_text(texts, voice, placement, message.text, message=message, budget=RegexBudget()).text


def cases(application: str) -> Iterator[Case]:
    return read_vectors(RECORDED / application / "regex_scripts.json").cases()


DISPLAYED = [
    case
    for case in cases("sillytavern")
    if case["call"] == "getRegexedString"
    and not case.get("extension_disabled")
    and case.get("placement") is not None
    # The page shows what is stored, nothing that is being edited or on its way into a prompt at the same time.
    and not case.get("params", {}).get("isEdit")
    and not (case.get("params", {}).get("isPrompt") and case.get("params", {}).get("isMarkdown"))
    and "characterOverride" not in case.get("params", {})
]
REPLACED = [
    case
    for case in cases("sillytavern")
    # The name in strings to trim is always that of who speaks; a script that is switched off never gets to the page.
    if case["call"] == "runRegexScript" and "characterOverride" not in case.get("params", {})
]
SHOWN_BY_RISUAI = [case for case in cases("risuai") if case["mode"] == "editdisplay"]


def named(case: Case) -> str:
    return str(case["id"])


@pytest.mark.parametrize("case", DISPLAYED, ids=named)
def test_the_page_chooses_the_scripts_that_sillytavern_chooses_for_display(case: Case) -> None:
    listed, allowed, params = case["scripts"], case["allowed"], case.get("params", {})

    def for_page(script: RegexScript) -> RegexScript:
        """What was recorded for a prompt, or for what is stored, holds in the same way for display."""
        only = script.markdownOnly, script.promptOnly
        if params.get("isPrompt"):
            only = only[1], only[0]
        elif not params.get("isMarkdown"):
            only = not any(only), any(only)
        return script.with_(markdownOnly=only[0], promptOnly=only[1])

    def scripts_of(scope: str) -> tuple[RegexScript, ...]:
        return tuple(map(for_page, embedded_scripts({"regex_scripts": listed[scope]})))

    scripts = RegexScripts(
        global_=scripts_of("global"),
        preset=scripts_of("preset") if allowed["preset"] else (),
        scoped=scripts_of("scoped") if allowed["scoped"] else (),
    )
    depth = params.get("depth")
    shown = shown_by_sillytavern(case, scripts, case["placement"], depth if type(depth) is int else None)
    assert shown == case["expected"]


@pytest.mark.parametrize("case", REPLACED, ids=named)
def test_the_page_replaces_as_sillytavern_does(case: Case) -> None:
    (script,) = embedded_scripts({"regex_scripts": [case["script"]]})
    for_display = script.with_(markdownOnly=True, placement=(Placement.AI_OUTPUT,), minDepth=None, maxDepth=None)
    assert shown_by_sillytavern(case, RegexScripts(global_=(for_display,)), Placement.AI_OUTPUT) == case["expected"]


@pytest.mark.parametrize("case", SHOWN_BY_RISUAI, ids=named)
def test_the_page_shows_what_risuai_shows(case: Case) -> None:
    conditions = case.get("cbsConditions") or {}
    options = CBSOptions(
        is_display=True,
        chat_role=conditions.get("chatRole"),
        is_first_message=conditions.get("firstmsg", False),
        quietly=True,
    )
    scene, place = recorded_scene(case["env"]), case.get("chatID", -1)
    shown = show_in_scene(scene, case["input"], place=place, options=options, budget=TimeBudget(2.0))
    assert shown.text == case["output"]
    assert bool(shown.problems) == bool(case.get("script_errors"))


def test_there_are_recorded_cases_of_each_kind() -> None:
    assert (len(DISPLAYED) >= 50, len(REPLACED) >= 120, len(SHOWN_BY_RISUAI) >= 90) == (True, True, True)
