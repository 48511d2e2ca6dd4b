"""What a build leaves for the reply, everything that happens to the reply, and how a message is shown."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial, reduce

from tavernkit.lore.verdicts import LazyVerdicts, LoreVerdict
from tavernkit.macros.variables import VariablesStore
from tavernkit.prompt.built import BuildResult, Built, Reply, common_fields, snapshot
from tavernkit.prompt.context import Context
from tavernkit.prompt.tokens import TokenEstimator, default_estimator
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.chat_history import to_history
from tavernkit.risuai.findings import findings_of
from tavernkit.risuai.lorebook.decorators import read_decorators
from tavernkit.risuai.lorebook.result import LorebookResult
from tavernkit.risuai.module import Module
from tavernkit.risuai.problems import CBSProblem
from tavernkit.risuai.regex_scripts import ScriptResult, apply_scripts
from tavernkit.risuai.scene import RisuScene, Screen, estimator_for
from tavernkit.risuai.settings import RisuSettings
from tavernkit.risuai.story import ReplyCleanup, Story
from tavernkit.risuai.triggers import REFUSING, run_triggers
from tavernkit.risuai.workbench import Workbench
from tavernkit.text.js_strings import js_trim
from tavernkit.text.replies import (
    END_OF_TEXT,
    before_speaker,
    split_thoughts,
    strip_line_ends,
    without_labels,
    without_stop,
)

_EMOTION = re.compile(r'<Emotion="(.+?)">', re.IGNORECASE)
"""How RisuAI asks the model to name the picture that it wants in its reply."""

REPLY = "reply"
"""The id of a reply that has none yet."""


class RisuResult(BuildResult, frozen=True, kw_only=True):
    """The result of a build, with what its reply needs: the character and the chat as triggers have left them, the
    settings and the modules, with the books of the build among them."""

    character: RisuCharacter
    chat: RisuChat
    settings: RisuSettings
    modules: tuple[Module, ...] = ()
    user_name: str = "User"
    persona: str = ""
    screen: Screen = Screen()
    cleanup: ReplyCleanup | None = None


def result_of(ctx: Context) -> RisuResult:
    """The result of the build that has just ended."""
    bench = ctx.platform(Workbench)
    scene, lore = bench.scene, bench.lore
    fields = common_fields(ctx)
    result = RisuResult(
        **fields,
        findings=findings_of(ctx, bench, fields["variables"]),
        dialect=bench.settings.dialect,
        character=bench.character,
        chat=scene.chat,
        settings=bench.settings,
        modules=tuple(scene.modules),
        user_name=scene.user_name,
        persona=scene.persona,
        screen=scene.screen,
        cleanup=bench.story.cleanup,
    )
    if lore is None:
        return result
    return result.with_(lore=LazyVerdicts(partial(_verdicts, lore, result, bench.story)))


def _verdicts(lore: LorebookResult, result: RisuResult, story: Story) -> list[LoreVerdict]:
    # Whenever they are worked out, what the application has done since the build must not matter.
    scene = _scene(result, result.variables_store(), story)
    found: list[LoreVerdict] = []
    for verdict in lore.verdicts:
        if verdict.cause is None and verdict.key is None:
            continue
        entry = verdict.entry
        content = read_decorators(entry.content).content
        found.append(
            LoreVerdict(
                book=verdict.book,
                entry=entry.id or str(verdict.index),
                name=entry.comment or entry.key,
                reason=verdict.reason.value,
                sentence=str(verdict),
                content=expand(content, scene) if verdict.is_activated else content,
                is_activated=verdict.is_activated,
                cause=verdict.lore_cause,
                key=verdict.key,
            )
        )
    return found


def take_reply(
    built: Built[RisuResult],
    text: str,
    *,
    thoughts: str = "",
    continued: str | None = None,
    ends: Sequence[str] = (),
    stop: Sequence[str] | None = None,
    variables: VariablesStore | None = None,
    now: datetime | None = None,
    rng: random.Random | None = None,
    story: Story | None = None,
    estimator: TokenEstimator | None = None,
) -> Reply:
    """Make a message of what the model has answered, and put it into the chat.

    In this order: the text is cut off at `ends`, the story's `cleanup` takes out thoughts and what others would say,
    the scripts for output run, macros of the chat set variables, and `output` triggers run. A reply to a build of the
    type `continue` is joined to the last message first, or to what `continued` says that it is.

    `thoughts` are those that the provider has told apart itself. `stop` is what the plan stops at if nobody says
    otherwise, `variables` those of the result, in a store of their own; `now` and `rng` come from the result as well.
    `story` is that of the build, where it has macros or a host for triggers.
    """
    result = built.result
    story = story or Story()
    store = result.variables_store() if variables is None else variables
    warnings: list[BuildWarning] = []
    scene = _scene(result, store, story, now=now, rng=rng, estimator=estimator, warnings=warnings)
    for end in ends:
        text = text.partition(end)[0]
    if result.cleanup is not None:
        wanted = built.plan.llm_options.get("stop") if stop is None else stop
        stops = [each for each in wanted if isinstance(each, str)] if isinstance(wanted, Sequence) else []
        text, thoughts = _cleaned(text, thoughts, scene, result.cleanup, stops)
    if not js_trim(text):
        return Reply(text="", reasoning=thoughts, variables=snapshot(store))
    messages = scene.chat.messages
    last: RisuMessage | None = None
    if result.generation_type == "continue":
        if messages and continued in (None, messages[-1].data):
            last = messages.pop()
        before = continued if last is None else last.data
        joint = result.cleanup.joint if result.cleanup is not None and before and not before[-1].isspace() else ""
        text = (before or "") + joint + text
    edited = apply_scripts(js_trim(text), scene, "editoutput", chat_index=len(messages))
    reply = last or RisuMessage(role="char", saying=result.character.id)
    id = reply.id or REPLY
    text = _EMOTION.sub(r"{{emotion::\1}}", edited.text) if result.character.shows_emotions else edited.text
    messages.append(reply.with_(role="char", data=text, time=scene.now().timestamp() * 1000, id=id))
    for index, message in enumerate(messages):
        messages[index] = message.with_(data=expand(message.data, scene, CBSOptions(runs_variables=True)))
    triggered = run_triggers(scene, "output", host=story.host or REFUSING)
    return Reply(
        # A trigger may have taken earlier messages away, or the reply itself.
        text=next((message.data for message in reversed(triggered.messages) if message.id == id), ""),
        reasoning=thoughts,
        variables=snapshot(store),
        warnings=(*warnings, *edited.warnings, *triggered.warnings),
        messages=tuple(to_history(triggered.messages)),
        note=triggered.note,
        emotion=edited.emotion,
        asks_again=triggered.send_ai_prompt,
    )


def shown(built: Built[RisuResult], index: int, *, story: Story | None = None) -> ScriptResult:
    """A message of the chat as the page shows it: after `display` triggers, macros and the scripts for display."""
    result = built.result
    scene = _scene(result, result.variables_store(), story or Story())
    message = scene.chat.messages[index]
    options = CBSOptions(is_display=True, chat_role=message.role)
    return apply_scripts(message.data, scene, "editdisplay", chat_index=index, options=options)


def _scene(
    result: RisuResult,
    variables: VariablesStore,
    story: Story,
    *,
    now: datetime | None = None,
    rng: random.Random | None = None,
    estimator: TokenEstimator | None = None,
    warnings: list[BuildWarning] | None = None,
) -> RisuScene:
    """The scene as the build has left it, to be changed without changing the result."""
    moment = result.now if now is None else now
    problems: list[BuildWarning] = [] if warnings is None else warnings
    return RisuScene(
        character=result.character,
        chat=dataclasses.replace(result.chat, messages=list(result.chat.messages)),
        settings=result.settings,
        now=lambda: moment,
        random=(rng or result.rng()).random,
        user_name=result.user_name,
        persona=result.persona,
        variables=variables,
        modules=result.modules,
        estimator=estimator_for(estimator or default_estimator(), result.model, result.settings),
        screen=result.screen,
        macros=story.macros,
        on_problem=lambda problem: _note(problem, problems),
    )


def _note(problem: CBSProblem, problems: list[BuildWarning]) -> None:
    """Macros that do not exist are nobody's mistake in what a model has written."""
    if problem.code == "macro_limit":
        problems.append(BuildWarning(code=problem.code, message=problem.message))


def _cleaned(
    text: str, thoughts: str, scene: RisuScene, cleanup: ReplyCleanup, stops: Sequence[str]
) -> tuple[str, str]:
    """The reply without what does not belong to it, and its thoughts."""
    if cleanup.thoughts_prefix and cleanup.thoughts_suffix and not thoughts:
        thoughts, text = split_thoughts(text, cleanup.thoughts_prefix, cleanup.thoughts_suffix) or ("", text)
    text = strip_line_ends(reduce(without_stop, stops, text))
    own = "" if scene.character is None else scene.character.name
    text = before_speaker(text, scene.user_name).partition(END_OF_TEXT)[0]
    for name in cleanup.other_speakers:
        if name != own:
            text = before_speaker(text, name)
    return js_trim(without_labels(text, f"{own}:")), thoughts
