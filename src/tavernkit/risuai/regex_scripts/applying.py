"""Running the scripts of a mode over a text, one after the other, under limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from tavernkit.errors import RegexError, RegexTimeout
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.sources import FromRegex
from tavernkit.prompt.tracing import realigned
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.regex_scripts.following import replaced
from tavernkit.risuai.regex_scripts.prepared import PreparedScript, in_order
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.triggers import TriggerBudget, run_triggers
from tavernkit.text.js_numbers import parse_int
from tavernkit.text.js_regex import JsMatch, JsRegex, compile_regex, first_found
from tavernkit.text.time_budget import TimeBudget
from tavernkit.values import Value

_GROUP = re.compile(r"(?<!\$)\$[0-9]+")
_WHOLE = JsRegex(source=r"\$&", flags="g")

ScriptMode: TypeAlias = Literal["editinput", "editoutput", "editprocess", "editdisplay", "edittrans"]

MAX_OUTPUT = 1_000_000
"""Characters that a text may grow to; one that is longer already may not grow at all."""

SECONDS = 2.0
"""Time that the scripts of one application may take together, unless the caller gives them a budget."""

_REMEMBERED_LENGTH = 4_000
_USUAL = CBSOptions()
_MAY_EXPAND = re.compile(r"\{\{|\{#|<(?:user|char|bot)>", re.IGNORECASE)


class ScriptResult(Value, frozen=True, kw_only=True):
    """The text after the scripts, the emotion that one of them chose, and what went wrong with others."""

    text: str
    emotion: str | None = None
    warnings: tuple[BuildWarning, ...] = ()


class _NotAppliedError(Exception):
    """The script cannot do what it says; the message is the reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def apply_scripts(
    text: str,
    scene: RisuScene,
    mode: ScriptMode,
    *,
    chat_index: int = -1,
    options: CBSOptions = _USUAL,
    budget: TimeBudget | None = None,
) -> ScriptResult:
    """The text after the display triggers, where it is for the page, its macros, and the scripts of the mode.

    Scripts are those of the settings, of the character and of the modules, in this order. `chat_index` is the place of
    the message whose text this is; `options` are for the macros in the text, in patterns and in what is put in. A
    script may write to that message in `scene.chat`. One that is broken, or that costs too much, leaves the text as
    it is and is reported.
    """
    warnings: list[BuildWarning] = []
    budget = TimeBudget(SECONDS) if budget is None else budget
    if mode == "editdisplay" and scene.character is not None and not scene.character.is_group:
        shown = run_triggers(scene, "display", display_data=text, budget=TriggerBudget(time=budget))
        warnings += shown.warnings
        text = text if shown.display_data is None else shown.display_data
    options = options.with_(chat_index=chat_index)
    text = expand(text, scene, options)
    chosen = in_order(script for script in _listed(scene) if script.type == mode and script.pattern)
    if not chosen:
        return ScriptResult(text=text, warnings=tuple(warnings))
    run = _Run(scene, options, budget, warnings)
    text = run.over(text, chosen)
    return ScriptResult(text=text, emotion=run.emotion, warnings=tuple(warnings))


def _listed(scene: RisuScene) -> list[RisuRegexScript]:
    of_character = scene.character.scripts if scene.character is not None else ()
    of_modules = (script for module in scene.modules for script in module.scripts)
    return [*scene.settings.scripts, *of_character, *of_modules]


class _Run:
    """Scripts being run over one text."""

    def __init__(self, scene: RisuScene, options: CBSOptions, budget: TimeBudget, warnings: list[BuildWarning]) -> None:
        self.emotion: str | None = None
        self._scene = scene
        self._options = options
        self._budget = budget
        self._warnings = warnings
        self._is_slow = False

    def over(self, text: str, scripts: Sequence[PreparedScript]) -> str:
        place = 0
        with self._budget.running():
            while place < len(scripts):
                if self._budget.left <= 0:
                    used_up = f"The {self._budget.seconds:g} s that scripts have together were used up; none ran after."
                    self._tell(scripts[place], "regex_timeout", used_up)
                    break
                place = self._next(text, scripts, place)
                if place < len(scripts):
                    text = self._try(scripts[place], text)
                    place += 1
        return text

    def _next(self, text: str, scripts: Sequence[PreparedScript], start: int) -> int:
        """The place of the next script that has to be tried.

        RisuAI parses the text after every script. Where that changes nothing, scripts that are not found are passed
        over, because looking for many patterns at once is much quicker than trying each.
        """
        if self._is_slow or _MAY_EXPAND.search(text):
            return start
        patterns: list[JsRegex] = []
        for script in scripts[start:]:
            pattern = _known_pattern(script.pattern, script.flags) if script.may_be_passed_over else None
            if pattern is None:
                break
            patterns.append(pattern)
        if not patterns:
            return start
        try:
            found = self._first_found(tuple(patterns), text)
        except RegexTimeout:
            self._is_slow = True
            return start
        return start + (len(patterns) if found is None else found)

    def _first_found(self, patterns: tuple[JsRegex, ...], text: str) -> int | None:
        if len(text) > _REMEMBERED_LENGTH:
            return first_found(patterns, str(text), limit=self._budget.regex_limit(text))
        return _remembered_first(patterns, str(text))

    def _try(self, script: PreparedScript, text: str) -> str:
        try:
            changed = realigned(text, self._apply(script, text), FromRegex(script=script.name))
        except RegexTimeout as error:
            self._tell(script, "regex_timeout", str(error))
        except RegexError as error:
            self._tell(script, "regex_invalid", str(error))
        except _NotAppliedError as error:
            self._tell(script, error.code, str(error))
        else:
            if len(changed) <= max(MAX_OUTPUT, len(text)):
                return changed
            self._tell(script, "regex_too_long", f"The text would have grown beyond {MAX_OUTPUT:,} characters.")
        return text

    def _apply(self, script: PreparedScript, text: str) -> str:
        source = self._expand(script.pattern) if script.expands_pattern else script.pattern
        pattern = compile_regex(source, script.flags)
        if not script.looks_first:
            return self._expand(self._replace(script, pattern, text))
        found = pattern.find_all(str(text), limit=self._budget.regex_limit(text))
        if not found:
            return text if script.repeats_back is None else self._repeat_back(pattern, script.repeats_back, text)
        # Looking leaves its mark on a pattern: the next use of a sticky one begins where this one ended.
        last = found[0].end if script.keeps_its_place else 0
        if script.emotion is not None:
            self._choose_emotion(script.emotion)
            return text
        if script.injects and self._options.chat_index != -1:
            self._keep(text)
            return self._replace(script, pattern, text, "", last)
        if script.moves is not None:
            return self._move(script, pattern, text, last)
        return self._expand(self._replace(script, pattern, text, start=last))

    def _choose_emotion(self, name: str) -> None:
        character = self._scene.character
        if character is not None and any(emotion.name == name for emotion in character.emotions):
            self.emotion = name

    def _keep(self, text: str) -> None:
        """Store the text, with what is about to be taken out of it, as the message's own."""
        messages = self._scene.chat.messages
        place = self._options.chat_index
        if not 0 <= place < len(messages):
            raise _NotAppliedError("script_without_message", f"The chat has no message at {place}.")
        messages[place] = messages[place].with_(data=str(text))

    def _move(self, script: PreparedScript, pattern: JsRegex, text: str, last: int) -> str:
        found = pattern.find_all(str(text), start=last, limit=self._budget.regex_limit(text))
        is_sticky = script.keeps_its_place and "g" not in script.flags
        after = found[0].end if found and is_sticky else 0
        moved = self._replace(script, pattern, text, "", after)
        for match in found:
            line = _fill(script.replacement, match, limit=self._budget.regex_limit(match.text))
            moved = f"{line}\n{moved}" if script.moves == "top" else f"{moved}\n{line}"
            if len(moved) > max(MAX_OUTPUT, len(text)):
                break
        return moved

    def _repeat_back(self, pattern: JsRegex, where: str, text: str) -> str:
        place = self._options.chat_index
        if place == -1:
            return text
        before = self._message_before(place)
        found = pattern.find_all(before, limit=self._budget.regex_limit(before))
        if not found:
            raise _NotAppliedError("script_without_match", "The message before it has nothing to repeat.")
        again = found[0].text
        if not again:
            return text
        match where:
            case "" | "end":
                return text + again
            case "start":
                return again + text
            case "end_nl":
                return f"{text}\n{again}"
            case "start_nl":
                return f"{again}\n{text}"
            case _:
                return text

    def _message_before(self, place: int) -> str:
        """The latest message before this one by the same speaker, or the greeting."""
        messages = self._scene.chat.messages
        if place > 0:
            if place >= len(messages):
                raise _NotAppliedError("script_without_message", f"The chat has no message at {place}.")
            role = messages[place].role
            for message in reversed(messages[:place]):
                if message.role == role:
                    return message.data
        return self._greeting()

    def _greeting(self) -> str:
        character, index = self._scene.character, self._scene.chat.greeting_index
        if character is not None and index != -1 and not 0 <= index < len(character.alternate_greetings):
            raise _NotAppliedError("script_without_message", f"The character has no greeting at {index}.")
        return self._scene.greeting

    def _replace(
        self, script: PreparedScript, pattern: JsRegex, text: str, replacement: str | None = None, start: int = 0
    ) -> str:
        written = script.replacement if replacement is None else replacement
        changed = pattern.replace(str(text), written, start=start, limit=self._budget.regex_limit(text))
        if not isinstance(text, TracedText):
            return changed
        if changed == text:
            return text
        cuts, _ = pattern.cut(str(text), limit=self._budget.regex_limit(text))
        return replaced(text, changed, cuts, written, FromRegex(script=script.name))

    def _expand(self, text: str) -> str:
        return expand(text, self._scene, self._options)

    def _tell(self, script: PreparedScript, code: str, reason: str) -> None:
        sentence = f"The regex script {script.name!r} was not applied. {reason}"
        self._warnings.append(BuildWarning(code=code, message=sentence, where={"script": script.name}))


def _known_pattern(source: str, flags: str) -> JsRegex | None:
    try:
        return compile_regex(source, flags)
    except RegexError:
        return None


@lru_cache(maxsize=4096)
def _remembered_first(patterns: tuple[JsRegex, ...], text: str) -> int | None:
    """`first_found`, remembered: most of a chat is the same from build to build."""
    return first_found(patterns, text)


def _fill(replacement: str, match: JsMatch, *, limit: float) -> str:
    """The replacement without its directive, with `$1` and `$&`. Named groups are left as they stand, in RisuAI too."""
    groups = (match.text, *match.groups)

    def group(found: re.Match[str]) -> str:
        place = parse_int(found[0][1:])
        if place >= len(groups):
            return found[0]
        value = groups[int(place)]
        return "undefined" if value is None else value

    line = replacement.replace("@@move_top ", "", 1).replace("@@move_bottom ", "", 1)
    line = _GROUP.sub(group, line)
    # What replaces `$&` is itself read for `$` patterns, as everything that is given to `replace` is.
    return _WHOLE.replace(line, match.text, limit=limit) if "$&" in line else line
