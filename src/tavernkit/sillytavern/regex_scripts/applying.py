"""Running scripts over a text, one after the other, under limits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from tavernkit.errors import RegexError, RegexTimeout
from tavernkit.macros.engine import MacroEngine
from tavernkit.prompt.parts import TracedText, joined
from tavernkit.prompt.sources import FromRegex
from tavernkit.prompt.tracing import passed, realigned, source_at, traced
from tavernkit.prompt.warning import BuildWarning
from tavernkit.sillytavern.macros.environment import Environment
from tavernkit.sillytavern.regex_scripts.script import RegexScript, RegexScripts
from tavernkit.text.js_regex import TIME_LIMIT, JsCut, JsRegex, compile_regex, first_found
from tavernkit.text.js_strings import join_halves
from tavernkit.text.time_budget import TimeBudget

_WHOLE_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE | re.ASCII)
_GROUP = re.compile(r"\$([0-9]+)|\$<([^>]+)>")
_MOST_DIGITS = 6  # more groups than that no pattern has


class GroupName(NamedTuple):
    """`$<name>`."""

    name: str


ReplacementPart = str | int | GroupName
"""Literal text, the number of a group, which is 0 for the whole match, or its name."""


@lru_cache(maxsize=1024)
def replacement_parts(replace: str) -> tuple[ReplacementPart, ...]:
    """What a script has in its replace field, taken apart."""
    return tuple(_parts(_WHOLE_MATCH.sub("$0", replace)))


def _parts(replace: str) -> Iterator[ReplacementPart]:
    end = 0
    for match in _GROUP.finditer(replace):
        if match.start() > end:
            yield replace[end : match.start()]
        digits, name = match.groups()
        if digits is None:
            yield GroupName(name)
        elif len(significant := digits.lstrip("0")) <= _MOST_DIGITS:
            yield int(significant or 0)
        end = match.end()
    if end < len(replace):
        yield replace[end:]


def fill(parts: tuple[ReplacementPart, ...], cut: JsCut, text: str, trim: Callable[[str], str]) -> Iterator[str]:
    """The parts with the groups of one match of the text in their places; `trim` is done to what a group took."""
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        found = _numbered(part, cut, text) if isinstance(part, int) else (cut.named or {}).get(part.name)
        if found:
            yield trim(found)


def _numbered(number: int, cut: JsCut, text: str) -> str | None:
    """A group; the numbers after the last one give the offset, if it is not 0, and the whole text."""
    if number < len(cut.groups):
        return cut.groups[number]
    if number == len(cut.groups):
        return str(cut.start) if cut.start else None
    return text if number == len(cut.groups) + 1 else None


class Expand(Protocol):
    """Expands the macros of a text.

    `character` is who is meant by the character's name instead of the chat's own; `escape` is to be done to what each
    macro gives.
    """

    def __call__(
        self, text: str, *, character: str | None = None, escape: Callable[[str], str] | None = None
    ) -> str: ...


def macro_expander(engine: MacroEngine, environment: Environment) -> Expand:
    """Expand with one of SillyTavern's engines; there is no original to refer back to."""
    plain = environment.with_(original=None)

    def expand(text: str, *, character: str | None = None, escape: Callable[[str], str] | None = None) -> str:
        seen = plain if escape is None else plain.with_(post_process=escape)
        if character is not None:
            in_card = seen.names_in_card or (seen.user_name, seen.character_name)
            seen = seen.with_(character_name=character, names_in_card=in_card)
        return engine.expand(text, seen)

    return expand


SECONDS = 1.0
STRIKES = 3


class RegexBudget(TimeBudget):
    """The time that scripts may take together, and what has been learnt about the bad ones among them.

    One that is made for a whole build and given to every application keeps hostile scripts from being tried on each
    message anew.
    """

    def __init__(self, seconds: float = SECONDS, *, clock: Callable[[], float] = time.process_time) -> None:
        super().__init__(seconds, clock=clock)
        self._strikes: dict[tuple[str, ...], int] = {}
        self._told: set[tuple[str, ...]] = set()

    def strike(self, script: RegexScript) -> bool:
        """Note that a script cost too much; True when it is not to be tried again."""
        key = _key(script)
        self._strikes[key] = self._strikes.get(key, 0) + 1
        return self.is_out(script)

    def is_out(self, script: RegexScript) -> bool:
        """Whether a script has cost too much too often."""
        return bool(self._strikes) and self._strikes.get(_key(script), 0) >= STRIKES

    def is_news(self, *what: str) -> bool:
        """Whether this is said for the first time."""
        known = what in self._told
        self._told.add(what)
        return not known


def _key(script: RegexScript) -> tuple[str, ...]:
    return script.id, script.scriptName, script.findRegex, script.replaceString


_MAX_FIND = 20_000
"""Characters of the longest find field that is read."""
# Not anchored, and `.` stops at the end of a line: only the first line counts, and what follows the flags is ignored.
_BETWEEN_SLASHES = re.compile("(/?)([^\n\r\u2028\u2029]+)\\1([A-Za-z]*)")
_FLAGS = frozenset("gmixXsuUAJ")
_SPECIAL = re.compile(r"[\n\r\t\v\f\0.^$*+?{}\[\]\\/|()]")
_NAMED_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\v": "v", "\f": "f", "\0": "0"}

MAX_OUTPUT = 1_000_000
"""Characters that a text may grow to; one that is longer already may not grow at all."""

_SECONDS_PER_CHARACTER = 5e-7  # beside the fixed limit: a harmless pattern needs time for a long text too
_REMEMBERED_LENGTH = 4_000
_RAW, _ESCAPED = 1, 2
_NOT_A_NAME = re.compile(r"\{\{(?!(?:user|char)\}\})", re.IGNORECASE)

OnProblem = Callable[[BuildWarning], None]


class _TooLongError(Exception):
    """The text has grown too much."""


class _TimeUpError(Exception):
    """The budget is used up."""


def apply_scripts(
    text: str,
    scripts: RegexScripts,
    placement: int,
    *,
    expand: Expand,
    is_prompt: bool = False,
    is_markdown: bool = False,
    is_edit: bool = False,
    depth: int | None = None,
    character_override: str | None = None,
    on_problem: OnProblem = lambda _: None,
    budget: RegexBudget | None = None,
) -> str:
    """The text after every script that is for it.

    `is_prompt` is set for a text on its way into a prompt, `is_markdown` for one that is about to be shown, neither for
    one that is about to be stored; `is_edit` for one that the user has edited. `depth` counts messages from the newest,
    0, and is None for what is no message. `character_override` is the character's name in the strings to trim. A
    script that is broken, or that costs too much, leaves the text as it is and is reported.
    """
    if not text:
        return text
    chosen = [
        script
        for script in scripts
        if not script.is_idle
        and script.is_for(placement, is_prompt=is_prompt, is_markdown=is_markdown, is_edit=is_edit, depth=depth)
    ]
    if not chosen:
        return text
    run = _Run(expand, character_override, on_problem, RegexBudget() if budget is None else budget)
    return run.over(text, chosen)


def run_script(
    script: RegexScript,
    text: str,
    *,
    expand: Expand,
    character_override: str | None = None,
    on_problem: OnProblem = lambda _: None,
    budget: RegexBudget | None = None,
) -> str:
    """The text after one script, wherever that script is meant to apply."""
    run = _Run(expand, character_override, on_problem, RegexBudget() if budget is None else budget)
    return run.over(text, [script])


@dataclass(eq=False)
class _Run:
    """Scripts being run over one text."""

    expand: Expand
    character: str | None
    on_problem: OnProblem
    budget: RegexBudget
    is_slow: bool = False

    def over(self, text: str, scripts: Sequence[RegexScript]) -> str:
        scripts = [script for script in scripts if not script.is_idle and not self.budget.is_out(script)]
        place = 0
        with self.budget.running():
            while text and place < len(scripts):
                if self.budget.left <= 0:
                    self._tell_time_is_up(scripts[place])
                    break
                place = self._next(text, scripts, place)
                if place < len(scripts):
                    text = self._try(scripts[place], text)
                    place += 1
        return text

    def _next(self, text: str, scripts: Sequence[RegexScript], start: int) -> int:
        """The place of the next script that has to be tried: those whose patterns are not found are passed over.

        Looking for many patterns at once is much quicker than trying each, but a pattern whose macros depend on what
        the scripts before it do must wait for its turn.
        """
        if self.is_slow:
            return start
        places: list[int] = []
        patterns: list[JsRegex] = []
        end = start
        while end < len(scripts) and not _stands_alone(scripts[end]):
            pattern = self._pattern(scripts[end], self._find(scripts[end]))
            if pattern is not None:
                places.append(end)
                patterns.append(pattern)
            end += 1
        if not patterns:
            return end
        try:
            found = _find_first(tuple(patterns), str(text))
        except RegexTimeout:
            self.is_slow = True
            return start
        return end if found is None else places[found]

    def _try(self, script: RegexScript, text: str) -> str:
        """The text after the script, or as it was, with a report."""
        pattern = self._pattern(script, self._find(script))
        if pattern is None:
            return text
        try:
            if _stands_alone(script) and _find_first((pattern,), str(text)) is None:
                return text
            return self._replace(script, pattern, text)
        except RegexTimeout as error:
            self._tell(script, "regex_timeout", str(error), is_last=self.budget.strike(script))
        except _TooLongError:
            grown = f"The text would have grown beyond {MAX_OUTPUT:,} characters."
            self._tell(script, "regex_too_long", grown, is_last=self.budget.strike(script))
        except _TimeUpError:
            self._tell_time_is_up(script)
        return text

    def _find(self, script: RegexScript) -> str:
        if script.substituteRegex == _RAW:
            return self.expand(script.findRegex)
        if script.substituteRegex == _ESCAPED:
            return self.expand(script.findRegex, escape=escape_for_pattern)
        return script.findRegex

    def _pattern(self, script: RegexScript, find: str) -> JsRegex | None:
        """The pattern, unless it is broken."""
        pattern = find_pattern(find)
        if isinstance(pattern, JsRegex):
            return pattern
        if self.budget.is_news("regex_invalid", script.scriptName, find):
            self._tell(script, "regex_invalid", pattern)
        return None

    def _replace(self, script: RegexScript, pattern: JsRegex, text: str) -> str:
        cuts, rest = pattern.cut(str(text), limit=min(_limit(text), max(self.budget.left, 0.001)))
        if not cuts:
            return text
        following = _Following(script, text) if isinstance(text, TracedText) else None
        parts = replacement_parts(script.replaceString)
        trim = partial(self._trim, script.trimStrings)
        room = max(MAX_OUTPUT, len(text)) - len(rest)
        pieces: list[str] = []
        for cut in cuts:
            inserted: list[str] = []
            room_here = room
            for piece in fill(parts, cut, str(text), trim):
                room_here -= len(piece)
                if room_here < 0:
                    raise _TooLongError
                inserted.append(piece)
            written = join_halves("".join(inserted))
            expanded = self.expand(written if following is None else following.written(written, cut, inserted))
            room -= len(cut.before) + len(expanded)
            if room < 0:
                raise _TooLongError
            if self.budget.left <= 0:
                raise _TimeUpError
            pieces += (cut.before, expanded)
            if following is not None:
                following.go_on(cut, expanded)
        pieces.append(rest)
        changed = join_halves("".join(pieces))
        return changed if following is None else following.whole(changed)

    def _trim(self, trims: Sequence[str], text: str) -> str:
        for trim in trims:
            if self.budget.left <= 0:
                raise _TimeUpError
            text = text.replace(self.expand(trim, character=self.character), "")
        return text

    def _tell_time_is_up(self, script: RegexScript) -> None:
        if self.budget.is_news("regex_timeout"):
            used_up = f"The {self.budget.seconds:g} s that all scripts have together were used up; no further one ran."
            self._tell(script, "regex_timeout", used_up)

    def _tell(self, script: RegexScript, code: str, reason: str, *, is_last: bool = False) -> None:
        sentence = f"The regex script {_name(script)!r} was not applied. {reason}"
        if is_last:
            sentence += " It is not tried again."
        self.on_problem(BuildWarning(code=code, message=sentence, where={"script": _name(script)}))


class _Following:
    """Knows where the characters of a text come from while a script replaces some of them."""

    def __init__(self, script: RegexScript, text: TracedText) -> None:
        self._script = _name(script)
        self._text = text
        self._at = 0
        self._pieces: list[str] = []

    def written(self, text: str, cut: JsCut, inserted: Sequence[str]) -> str:
        """What is put in for a match: the script's own words, and what groups have taken of the text."""
        match = cut.groups[0] or ""
        start = self._at + len(cut.before)
        step = FromRegex(script=self._script, inside=source_at(self._text, start))
        taken = {group for group in (*cut.groups, *(cut.named or {}).values()) if group}
        pieces: list[str] = []
        for piece in inserted:
            place = match.find(piece) if piece in taken and match.count(piece) == 1 else -1
            found = self._text[start + place : start + place + len(piece)] if place >= 0 else ""
            pieces.append(passed(found, step) if found and found == piece else traced(piece, step))
        known = joined("", pieces)
        return known if known == text else traced(text, step)

    def go_on(self, cut: JsCut, put_in: str) -> None:
        """Go on behind a match, in the place of which something was put in."""
        self._pieces += (self._text[self._at : self._at + len(cut.before)], put_in)
        self._at += len(cut.before) + len(cut.groups[0] or "")

    def whole(self, changed: str) -> str:
        """The changed text; where a match has parted a surrogate pair, places are not known."""
        known = joined("", (*self._pieces, self._text[self._at :]))
        return known if known == changed else realigned(self._text, changed, FromRegex(script=self._script))


def _stands_alone(script: RegexScript) -> bool:
    """Whether its pattern has macros other than the two names: those may do something, or depend on what was done."""
    return script.substituteRegex in (_RAW, _ESCAPED) and _NOT_A_NAME.search(script.findRegex) is not None


def _name(script: RegexScript) -> str:
    return script.scriptName or script.id or script.findRegex[:40]


def _limit(text: str) -> float:
    return TIME_LIMIT + len(text) * _SECONDS_PER_CHARACTER


def _find_first(patterns: tuple[JsRegex, ...], text: str) -> int | None:
    """`first_found`, remembered for texts of ordinary length: most of a chat is the same from build to build."""
    find = _remembered_first if len(text) <= _REMEMBERED_LENGTH else first_found
    return find(patterns, text, limit=_limit(text))


_remembered_first = lru_cache(maxsize=4096)(first_found)


@lru_cache(maxsize=4096)
def find_pattern(find: str) -> JsRegex | str:
    """The pattern of `/body/flags` or of a body alone, or a sentence that says why there is none.

    Flags that no flavour of regular expressions knows, or that are given twice, make the whole text the pattern; flags
    that only other flavours know make none.
    """
    if len(find) > _MAX_FIND:
        return f"Its pattern is longer than {_MAX_FIND:,} characters."
    found = _BETWEEN_SLASHES.search(find)
    if found is None:
        return "Its pattern is empty."
    source, flags = found[2], found[3]
    if not _FLAGS.issuperset(flags) or len(set(flags)) < len(flags):
        source, flags = find, ""
    try:
        return compile_regex(source, flags)
    except RegexError as error:
        return str(error)


def escape_for_pattern(text: str) -> str:
    """The text as a pattern that matches it and nothing else."""
    return _SPECIAL.sub(lambda match: "\\" + _NAMED_ESCAPES.get(match[0], match[0]), text)
