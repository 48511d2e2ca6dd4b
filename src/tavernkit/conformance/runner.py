"""Running the cases of a file and counting what agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from tavernkit.conformance.vectors import Case, Check, VectorFile
from tavernkit.errors import ParseError, TavernKitError
from tavernkit.values import Json, Value

_CHECKS: Mapping[tuple[str, str], str] = {
    ("liquidjs", "liquid"): "liquid",
    ("risuai", "cbs_blocks"): "risuai:check_text",
    ("risuai", "cbs_macros"): "risuai:check_text",
    ("risuai", "formats"): "risuai_formats",
    ("risuai", "fuzz_calc"): "risuai:check_text",
    ("risuai", "fuzz_cbs"): "risuai:check_text",
    ("risuai", "fuzz_lore"): "risuai:check_lorebook",
    ("risuai", "fuzz_prompt"): "risuai:check_prompt",
    ("risuai", "lorebook"): "risuai:check_lorebook",
    ("risuai", "prompt_template"): "risuai:check_prompt",
    ("risuai", "regex_scripts"): "risuai:check_regex_scripts",
    ("risuai", "triggers"): "risuai:check_triggers",
    ("sillytavern", "card_book"): "world_info:check_card_book",
    ("sillytavern", "card_io"): "card_io",
    ("sillytavern", "chat_prompt"): "prompt_cases:check_chat",
    ("sillytavern", "cleanup"): "replies",
    ("sillytavern", "dialects"): "dialects",
    ("sillytavern", "groups"): "groups",
    ("sillytavern", "hash_rng"): "macro_cases:check_hash_rng",
    ("sillytavern", "jsonl"): "jsonl",
    ("sillytavern", "macros_legacy"): "macro_cases:check_legacy",
    ("sillytavern", "macros_next"): "macro_cases:check_next",
    ("sillytavern", "macros_v2"): "macro_cases:check_v2",
    ("sillytavern", "reasoning"): "replies",
    ("sillytavern", "regex_scripts"): "replies:check_regex_scripts",
    ("sillytavern", "text_prompt"): "prompt_cases:check_text",
    ("sillytavern", "world_info"): "world_info",
}
"""The module here that replays a group, and its function where that is not `check`."""


class CaseFailure(Value, frozen=True, kw_only=True):
    """A case where we differ; `path` is the first place, such as `messages[2].content`."""

    id: str
    path: str
    expected: Json
    actual: Json


class FileResult(Value, frozen=True, kw_only=True):
    """How one file went."""

    total: int
    failures: tuple[CaseFailure, ...]

    @property
    def passed(self) -> int:
        return self.total - len(self.failures)


def can_replay(file: VectorFile) -> bool:
    """Whether there is a way to replay the file's group."""
    return (file.application, file.group) in _CHECKS


def run_file(file: VectorFile, on_case: Callable[[], None] = lambda: None) -> FileResult:
    """Replay every case; `on_case` is called after each. Raises ParseError for a group that nothing here replays."""
    check = _check_for(file)
    failures: list[CaseFailure] = []
    total = 0
    for case in file.cases():
        total += 1
        failure = _replay(check, case, total)
        if failure is not None:
            failures.append(failure)
        on_case()
    return FileResult(total=total, failures=tuple(failures))


def _check_for(file: VectorFile) -> Check:
    place = _CHECKS.get((file.application, file.group))
    if place is None:
        known = ", ".join(f"{application}/{group}" for application, group in _CHECKS)
        raise ParseError(
            f"{file.path.name}: no way to replay {file.application}/{file.group}; there is one for {known}."
        )
    module, _, function = place.partition(":")
    check: Check = getattr(import_module(f"tavernkit.conformance.{module}"), function or "check")
    return check


def _replay(check: Check, case: Case, number: int) -> CaseFailure | None:
    id = str(case.get("id", f"case {number}"))
    try:
        expected, actual = check(case)
    except TavernKitError as error:
        return CaseFailure(id=id, path="", expected="a result", actual=f"{type(error).__name__}: {error}")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        # A case of another shape than its group's must count as a failure of that case, not end the run.
        return CaseFailure(id=id, path="", expected="a case of this group", actual=f"{type(error).__name__}: {error}")
    difference = next(_differences(expected, actual, ""), None)
    if difference is None:
        return None
    path, wanted, found = difference
    return CaseFailure(id=id, path=path, expected=wanted, actual=found)


_MISSING = "(missing)"


def _differences(expected: Json, actual: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            yield from _differences(expected.get(key, _MISSING), actual.get(key, _MISSING), f"{path}.{key}".lstrip("."))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            yield from _differences(
                expected[index] if index < len(expected) else _MISSING,
                actual[index] if index < len(actual) else _MISSING,
                f"{path}[{index}]",
            )
    elif isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
        yield path, expected, actual
