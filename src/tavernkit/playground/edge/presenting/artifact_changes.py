"""What a version has changed, in words: for people who look at a state, not at JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tavernkit.artifacts import ArtifactChange, ArtifactVersion, change_between
from tavernkit.artifacts.json_patch import find_in_json
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.edge.presenting.artifact_cards import Mark, Marks, Path, on_one_line, plain_text, short_words
from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.values import Json, JsonObject, Value

MOST_VALUES = 5_000
DEEPEST = 40
MOST_LINES = 600
MOST_CHARACTERS = 40_000
MOST_SHOWN = 60
LONGEST_LINE = 400
LONGEST_WORDS = 120
GONE = "\0gone"
LineKind: TypeAlias = Literal["came", "went", "around", "place"]
KINDS: Mapping[str, LineKind] = {"+": "came", "-": "went", "@": "place"}


class WordsView(Value, frozen=True, kw_only=True):
    """One thing that a version has changed in a JSON value."""

    op: Literal["add", "remove", "replace"]
    where: str
    before: str = ""
    after: str = ""


class ArtifactChangeView(Value, frozen=True, kw_only=True):
    """What became of the version before. `lines` are those of a unified diff: what came, went, or stands around it;
    `place` is where others are left out. `large`: there is too much of it to be compared here."""

    kind: Literal["first", "same", "words", "lines", "large"]
    words: tuple[WordsView, ...] = ()
    lines: tuple[tuple[LineKind, str], ...] = ()
    more: int = 0


def compared(before: ArtifactVersion | None, after: ArtifactVersion) -> ArtifactChange | None:
    """What became of `before`; None where comparing the two would take longer than anybody waits."""
    return change_between(before, after) if is_comparable(before, after) else None


def is_comparable(before: ArtifactVersion | None, after: ArtifactVersion) -> bool:
    """Whether the two are small enough to be compared while somebody waits."""
    return before is None or (_is_small(before.content) and _is_small(after.content))


def change_view(change: ArtifactChange | None, before: ArtifactVersion | None) -> ArtifactChangeView:
    """A change to be read; `before` is what it was made from."""
    if change is None:
        return ArtifactChangeView(kind="large")
    match change.kind:
        case "full":
            return ArtifactChangeView(kind="first")
        case "json_patch":
            content = None if before is None else before.content
            words = tuple(_words(operation, content) for operation in change.patch[:MOST_SHOWN])
            return ArtifactChangeView(
                kind="words" if words else "same", words=words, more=len(change.patch) - len(words)
            )
        case "unified":
            # The first two lines name the versions, which stand above.
            lines = change.text.split("\n")[2:]
            shown = tuple((KINDS.get(line[:1], "around"), _line(line)) for line in lines[: MOST_SHOWN * 3])
            return ArtifactChangeView(kind="lines" if shown else "same", lines=shown, more=len(lines) - len(shown))


def marks_of(change: ArtifactChange | None) -> Marks:
    """Which parts of the new version are to be marked; what is gone is marked where it was."""
    if change is None or change.kind != "json_patch":
        return {}
    marks: dict[Path, Mark] = {}
    for operation in change.patch:
        path = _path(operation)
        if operation["op"] == "remove":
            # Nothing stands there any more, so that the mark is only seen by what stands around it.
            marks[(*path[:-1], GONE)] = "changed"
        else:
            marks[path] = "new" if operation["op"] == "add" else "changed"
    return marks


def _is_small(value: Json) -> bool:
    """Whether a text is short, or a value has neither very many parts nor very deep ones."""
    if isinstance(value, str):
        return len(value) <= MOST_CHARACTERS and value.count("\n") < MOST_LINES
    left: list[tuple[Json, int]] = [(value, 0)]
    seen = 0
    while left:
        item, depth = left.pop()
        seen += 1
        if seen > MOST_VALUES or depth > DEEPEST:
            return False
        if isinstance(item, dict | list):
            parts: list[Any] = list(item.values()) if isinstance(item, dict) else item
            if len(parts) > MOST_VALUES:
                return False
            left.extend((part, depth + 1) for part in parts)
    return True


def _words(operation: JsonObject, before: Json) -> WordsView:
    path, pointer = _path(operation), str(operation["path"])
    # What comes into a list or leaves it has no name of its own.
    named = path[:-1] if path and path[-1].isdecimal() else path
    match operation["op"]:
        case "add":
            return WordsView(op="add", where=_where(named), after=short_words(operation["value"], LONGEST_WORDS))
        case "remove":
            was = short_words(find_in_json(before, pointer), LONGEST_WORDS)
            return WordsView(op="remove", where=_where(named), before=was)
        case _:
            was = short_words(find_in_json(before, pointer), LONGEST_WORDS)
            now = short_words(operation["value"], LONGEST_WORDS)
            return WordsView(op="replace", where=_where(path), before=was, after=now)


def _where(path: Path) -> str:
    if not path:
        return _("Everything")
    parts = [
        _("No. {number}", number=int(part) + 1) if part.isdecimal() and len(part) < 9 else in_words(part)
        for part in path[:8]
    ]
    return on_one_line(" › ".join(map(translated, parts)), LONGEST_WORDS)


def _line(line: str) -> str:
    if line.startswith("@"):
        return ""
    return plain_text(line[1 : LONGEST_LINE + 1]) + ("…" if len(line) > LONGEST_LINE + 1 else "")


def _path(operation: JsonObject) -> Path:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).split("/")[1:])
