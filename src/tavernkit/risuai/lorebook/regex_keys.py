"""Keys that are regular expressions, with the peculiar way in which RisuAI reads them.

A key is written `/pattern/flags`. What stands behind the last slash is taken for the flags and cut off where it first
occurs; the slash in front stays in the pattern. The first key of the list is then overwritten with that pattern, so
the next text is searched for something else: usually for nothing, because a pattern is no flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tavernkit.errors import RegexError, RegexTimeout
from tavernkit.risuai.lorebook.matching import LorebookHaystack, Sight
from tavernkit.text.js_regex import JsRegex, PatternOutcome, compile_regex, search_all

KEY_SECONDS = 0.03
"""What one expression may take in one text."""

MOST_TIMEOUTS = 30
"""After so many expressions that took too long, a scan runs no more of them."""


class RegexKeys:
    """The expressions of one scan, and how far each list of them has come through the texts."""

    def __init__(self, haystack: LorebookHaystack, lists: Iterable[tuple[tuple[str, ...], int]]) -> None:
        """Each list comes with the place of the text where it begins."""
        self._haystack = haystack
        self._waiting: dict[int, list[tuple[str, ...]]] = {}
        for keys, start in lists:
            self._waiting.setdefault(start, []).append(keys)
        self._progress: dict[tuple[tuple[str, ...], Sight], _Progress] = {}
        self._answers: dict[tuple[JsRegex, int], bool] = {}
        self.timed_out: dict[JsRegex, None] = {}

    def find(self, keys: tuple[str, ...], sight: Sight) -> tuple[str, int] | None:
        """The key that is found, and where."""
        progress = self._progress.get((keys, sight))
        if progress is None:
            progress = self._progress[keys, sight] = _Progress(keys, list(keys), sight.start)
        end = sight.start + self._haystack.seen(sight)
        while not progress.is_settled and progress.reached < end:
            if progress.reached == sight.start:
                self._run_together(self._waiting.pop(sight.start, ()), sight.start)
            self._step(progress)
            progress.reached += 1
        return progress.found

    def slow_key(self, keys: tuple[str, ...]) -> str | None:
        """One of the keys that took too long in this scan."""
        if not self.timed_out:
            return None
        parted = ((key, _parts(key)) for key in keys)
        regexes = ((key, JsRegex(source=parts[0], flags=parts[1])) for key, parts in parted if parts)
        return next((key for key, regex in regexes if regex in self.timed_out), None)

    def _step(self, progress: _Progress) -> None:
        """Look for every key in the next text."""
        keys, place = progress.keys, progress.reached
        for number, key in enumerate(keys):
            if not key.startswith("/"):
                progress.is_settled = True
                return
            parts = _parts(key)
            if parts is None:
                continue
            keys[0] = parts[0]
            try:
                regex = compile_regex(*parts)
            except RegexError:
                progress.is_settled = True
                return
            if self._occurs(regex, place):
                progress.is_settled = True
                progress.found = progress.written[number], place
                return

    def _occurs(self, regex: JsRegex, place: int) -> bool:
        answer = self._answers.get((regex, place))
        if answer is None:
            answer = self._answers[regex, place] = self._run(regex, place)
        return answer

    def _run_together(self, lists: Iterable[tuple[str, ...]], place: int) -> None:
        """Run the expressions that begin with this text, each once; here they still are what was written."""
        if len(self.timed_out) >= MOST_TIMEOUTS:
            return
        found = dict.fromkeys(regex for keys in lists for regex in _compiled(keys))
        patterns = [regex for regex in found if regex not in self.timed_out]
        verdicts = search_all(patterns, self._haystack.text(place), limit=KEY_SECONDS)
        for regex, verdict in zip(patterns, verdicts, strict=True):
            if verdict.outcome in (PatternOutcome.TIMED_OUT, PatternOutcome.NOT_RUN):
                self.timed_out[regex] = None
            self._answers[regex, place] = verdict.outcome == PatternOutcome.FOUND

    def _run(self, regex: JsRegex, place: int) -> bool:
        if regex in self.timed_out or len(self.timed_out) >= MOST_TIMEOUTS:
            self.timed_out[regex] = None
            return False
        try:
            return regex.test(self._haystack.text(place), limit=KEY_SECONDS)
        except RegexTimeout:
            self.timed_out[regex] = None
            return False


@dataclass(slots=True)
class _Progress:
    """A list of keys on its way through the texts; `keys` changes on the way, `written` does not."""

    written: tuple[str, ...]
    keys: list[str]
    reached: int
    is_settled: bool = False
    found: tuple[str, int] | None = None


def _parts(key: str) -> tuple[str, str] | None:
    """What is taken for the pattern and for the flags; None for a key without flags."""
    flags = key.rpartition("/")[2]
    return (key.replace(f"/{flags}", "", 1), flags) if flags else None


def _compiled(keys: Sequence[str]) -> list[JsRegex]:
    """The expressions up to the first that is none, where the search ends."""
    found: list[JsRegex] = []
    for key in keys:
        if not key.startswith("/"):
            break
        parts = _parts(key)
        if parts is None:
            continue
        try:
            found.append(compile_regex(*parts))
        except RegexError:
            break
    return found
