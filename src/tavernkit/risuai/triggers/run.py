"""One run of triggers: what effects read and write while they happen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tavernkit.errors import RegexError
from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.cbs import expand
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.triggers.budget import TriggerBudget
from tavernkit.risuai.triggers.host import RefusedByHost, TriggerHost
from tavernkit.risuai.triggers.operand import Operand
from tavernkit.risuai.triggers.result import TriggerMode
from tavernkit.risuai.triggers.variables import ChatVariables, TriggerVariables
from tavernkit.text.js_json import from_json, to_json
from tavernkit.text.js_numbers import to_number
from tavernkit.text.js_regex import JsRegex, compile_regex
from tavernkit.text.js_strings import join_halves
from tavernkit.values import Json

_T = TypeVar("_T")
_OPTIONS = CBSOptions()
_SPECIAL = re.compile(r"[\\^$.*+?()[\]{}|/-]")
_MOST_LOGGED = 200
_MOST_WARNINGS = 100
_ONE_VALUE = 16


class ThrownError(Exception):
    """Where RisuAI's effect throws: its own fallback deals with it, or the run fails. The message says why."""


class Returned(Exception):  # noqa: N818 - no error: how an effect ends the whole run
    """The run ends here and leaves nothing."""


@dataclass(kw_only=True, eq=False)
class SharedTriggerState:
    """What a run has in common with the runs that it starts."""

    host: TriggerHost
    budget: TriggerBudget
    strict: bool
    start_run: Callable[[TriggerRun, str], None]
    chat_variables: ChatVariables
    prompts: dict[str, str] = field(default_factory=lambda: {"start": "", "historyend": "", "promptend": ""})
    warnings: list[BuildWarning] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    running: str = ""

    def warn(self, code: str, message: str, **where: Json) -> None:
        """Record a warning, with the name of the trigger that is running; the same one is told once."""
        placed = f"trigger {self.running}: {message}" if self.running else message
        warning = BuildWarning(code=code, message=placed, where=where)
        if warning not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(warning)


@dataclass(kw_only=True, eq=False)
class TriggerRun:
    """The state of one run.

    A run works on its own copy of the messages and of the character, as RisuAI's does: macros see the messages only
    once the caller has written them down, and a run that started another goes on with the character that it had.
    `runs_started` counts the runs that this one and those around it have started.
    """

    scene: RisuScene
    mode: TriggerMode
    shared: SharedTriggerState
    character: RisuCharacter
    messages: list[RisuMessage]
    note: str
    variables: TriggerVariables
    manual_name: str | None = None
    runs_started: int = 0
    depth: int = 0
    display_data: str | None = None
    stop_sending: bool = False
    send_ai_prompt: bool = False
    has_low_level_access: bool = False
    loops: dict[int, int] = field(default_factory=dict)

    def expand(self, text: str | None) -> str:
        """The text with its macros replaced; raises ThrownError where the field is missing."""
        if text is None:
            raise ThrownError("A field that it needs is missing.")
        self.shared.budget.step(len(text))
        return expand(text, self.scene, _OPTIONS)

    def text(self, operand: Operand) -> str:
        """What the operand stands for now."""
        text = self.expand(operand.text)
        return self.variables.get(text) if operand.is_variable else text

    def number(self, operand: Operand) -> float:
        """What the operand stands for, as a number."""
        return to_number(self.text(operand))

    def set(self, name: str, value: Json) -> None:
        """Write a variable."""
        if isinstance(value, str):
            # What takes the place of another text costs only what it is longer.
            self.shared.budget.write(max(len(value) - len(self.variables.get(name)), _ONE_VALUE))
            value = join_halves(value)
        else:
            self.shared.budget.write(_ONE_VALUE)
        self.variables.set(name, value)

    def put(self, output: str | None, value: Json) -> None:
        """Write the variable that an effect gives its answer to; the name may have macros."""
        self.set(self.expand(output), value)

    def json(self, text: str) -> Json:
        """What `JSON.parse` gives."""
        self.shared.budget.step(len(text))
        try:
            return from_json(text)
        except ValueError as error:
            raise ThrownError(f"{text[:40]!r} is not JSON: {error}.") from None

    def to_json(self, value: Json) -> str:
        """What `JSON.stringify` gives."""
        text = to_json(value)
        self.shared.budget.step(len(text))
        return text

    def regex(self, source: str, flags: str = "") -> JsRegex:
        """The pattern, understood; raises ThrownError."""
        self.shared.budget.step(len(source))
        try:
            return compile_regex(source, flags)
        except RegexError as error:
            raise ThrownError(str(error)) from None

    def match(self, text: str, use: Callable[[float], _T]) -> _T:
        """Use a pattern on a text within the time that it may take; raises ThrownError when that is not enough."""
        self.shared.budget.step(len(text))
        try:
            return use(self.shared.budget.time.regex_limit(text))
        except RegexError as error:
            raise ThrownError(str(error)) from None

    def test(self, pattern: JsRegex, text: str) -> bool:
        """Whether the pattern is in the text."""
        return self.match(text, lambda limit: pattern.test(text, limit=limit))

    def replace(self, text: str, wanted: str, replacement: str, count: int = -1) -> str:
        """The text with the first or every `wanted` replaced, by a text that is read for `$` patterns."""
        self.shared.budget.write((text.count(wanted) if count < 0 else count) * len(replacement))
        if "$" not in replacement or wanted not in text:
            return text.replace(wanted, replacement, count)
        pattern = self.regex(_SPECIAL.sub(r"\\\g<0>", wanted), "g" if count < 0 else "")
        return self.match(text, lambda limit: pattern.replace(text, replacement, limit=limit))

    def change_character(self, character: RisuCharacter) -> None:
        """Take this character from now on, in the scene too, where it comes with the chat that it had before."""
        self.character = character
        self.scene.character = character
        self.shared.budget.step(_ONE_VALUE * len(self.shared.chat_variables.before))
        self.shared.chat_variables.bring_back()

    def ask_host(self, what: str, ask: Callable[[TriggerHost], _T], otherwise: _T) -> _T:
        """What the host answers, or the other value, with a warning, when it refuses."""
        try:
            return ask(self.shared.host)
        except RefusedByHost as refusal:
            self.shared.warn("trigger_refused", f"A trigger wanted to {what}. {refusal}", effect=what)
            return otherwise

    def write_log(self, text: str) -> None:
        """Keep a line of what a trigger prints."""
        if len(self.shared.log) < _MOST_LOGGED:
            self.shared.budget.write(len(text))
            self.shared.log.append(text)
