"""Why a lore entry has come into a prompt, or has left it."""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.prompt.causes import (
    Cause,
    FactChanges,
    character_changed,
    generation_changed,
    setting_changed,
)
from tavernkit.prompt.reasons import ExplainedEntry, MissKind
from tavernkit.prompt.sources import Explanation, FromLore

_SETTINGS_BY_MISS: dict[MissKind, tuple[str, ...]] = {
    "depth": ("depth", "lore_depth", "min_activations", "include_names"),
    "case": ("case_sensitive",),
    "whole_words": ("match_whole_words", "lore_full_words"),
    "recursion": ("recursive", "lore_is_recursive", "max_recursion_steps"),
    "recursion_excluded": ("recursive", "lore_is_recursive"),
    "budget": ("budget_percent", "budget_cap", "lore_tokens"),
    "group": ("use_group_scoring",),
}
"""The settings that decide over what an entry has missed by."""


class LoreCauses:
    """The verdicts of two prompts on the same entries."""

    def __init__(self, before: Explanation, after: Explanation, facts: FactChanges) -> None:
        self._facts = facts
        self._before = {(one.book, one.entry): one for one in before.lore}
        self._after = {(one.book, one.entry): one for one in after.lore}
        self._is_whole = not (before.lore_cut or after.lore_cut)

    def of(self, source: FromLore) -> Iterator[Cause]:
        """What may have changed an entry's place in the prompt, the nearest first."""
        key = source.book, source.entry
        old, new = self._before.get(key), self._after.get(key)
        title = f"Entry {source.name or source.entry}"
        was, is_now = old is not None and old.is_activated, new is not None and new.is_activated
        if was and is_now:
            assert old is not None and new is not None  # noqa: S101, PT018 - both are activated
            yield from self._changed(title, old, new)
        elif is_now:
            assert new is not None  # noqa: S101 - it is activated
            yield from self._come(title, old, new)
        elif was:
            assert old is not None  # noqa: S101 - it was activated
            yield from self._gone(title, old, new)

    def _changed(self, title: str, old: ExplainedEntry, new: ExplainedEntry) -> Iterator[Cause]:
        if old.mark != new.mark:
            yield Cause(code="entry_edited", sentence=f"{title} edited")

    def _come(self, title: str, old: ExplainedEntry | None, new: ExplainedEntry) -> Iterator[Cause]:
        if old is None:
            yield from self._added(title, new)
        else:
            yield from self._edited(title, old, new)
            yield from self._by_setting(old)
            yield from self._let_in(title, old)
        yield _activation(title, new)

    def _gone(self, title: str, old: ExplainedEntry, new: ExplainedEntry | None) -> Iterator[Cause]:
        if new is None:
            yield from self._removed(title, old)
            return
        yield from self._edited(title, old, new)
        yield from self._by_setting(new)
        yield from self._kept_out(title, old, new)

    def _added(self, title: str, new: ExplainedEntry) -> Iterator[Cause]:
        if new.book and not self._knows_book(new.book, self._before, "before"):
            yield Cause(code="book_added", sentence=f"Lorebook {new.book} added")
        elif self._is_whole:
            yield Cause(code="entry_added", sentence=f"{title} added")

    def _removed(self, title: str, old: ExplainedEntry) -> Iterator[Cause]:
        if old.book and not self._knows_book(old.book, self._after, "after"):
            yield Cause(code="book_removed", sentence=f"Lorebook {old.book} removed")
        elif self._is_whole:
            yield Cause(code="entry_removed", sentence=f"{title} removed")

    def _knows_book(self, book: str, entries: dict[tuple[str, str], ExplainedEntry], side: str) -> bool:
        facts = self._facts.before if side == "before" else self._facts.after
        listed = {**facts.get("book", {}), **facts.get("module", {})}
        return book in listed or any(name == book for name, _ in entries)

    def _edited(self, title: str, old: ExplainedEntry, new: ExplainedEntry) -> Iterator[Cause]:
        if "disabled" in (old.reason, new.reason):
            is_on = old.reason == "disabled"
            yield Cause(
                code="entry_on" if is_on else "entry_off", sentence=f"{title} switched {'on' if is_on else 'off'}"
            )
        elif old.mark != new.mark:
            yield Cause(code="entry_edited", sentence=f"{title} edited")

    def _by_setting(self, missed: ExplainedEntry) -> Iterator[Cause]:
        """A setting that decides over what the entry has missed by, in the prompt that it is not in."""
        if missed.near_miss is None:
            return
        for name in _SETTINGS_BY_MISS.get(missed.near_miss.kind, ()):
            change = self._facts.get("lore_setting", name)
            if change is not None:
                yield setting_changed(change)
        change = self._facts.get("setting", "context size") if missed.reason == "budget" else None
        if change is not None:
            yield setting_changed(change)

    def _let_in(self, title: str, old: ExplainedEntry) -> Iterator[Cause]:
        """What no longer keeps it out."""
        match old.reason:
            case "cooldown":
                yield Cause(code="cooldown_ended", sentence=f"{title}: cooldown ended")
            case "delay" | "too_early":
                yield Cause(code="delay_ended", sentence=f"{title}: the chat is long enough now")
            case "not_this_turn":
                yield Cause(code="turn", sentence=f"{title}: it is its turn")
            case "probability":
                yield Cause(
                    code="chance", sentence=f"{title}: the roll was within its probability (before: {old.sentence})"
                )
            case "budget":
                yield Cause(code="budget", sentence=f"{title}: fits into the budget (before: {old.sentence})")
            case "group_lost":
                yield Cause(code="group_won", sentence=f"{title}: won its group (before: {old.sentence})")
            case "secondary_logic" | "no_secondary_key" | "no_additional_key" | "excluded" | "excluded_all":
                yield Cause(
                    code="secondary_key", sentence=f"{title}: its secondary keys are met (before: {old.sentence})"
                )
            case _:
                yield from self._filtered(old)

    def _kept_out(self, title: str, old: ExplainedEntry, new: ExplainedEntry) -> Iterator[Cause]:
        """What keeps it out now."""
        miss = new.near_miss
        if old.cause == "sticky" and new.reason != "cooldown":
            yield Cause(code="sticky_ended", sentence=f"{title}: sticky ended")
        match new.reason:
            case "cooldown":
                yield Cause(code="cooldown_began", sentence=f"{title}: {new.sentence}")
            case "probability":
                yield Cause(code="chance", sentence=f"{title}: {new.sentence}")
            case "budget":
                yield Cause(code="budget", sentence=f"{title}: {new.sentence}")
            case "group_lost":
                yield Cause(code="group_lost", sentence=f"{title}: {new.sentence}")
            case "not_this_turn":
                yield Cause(code="turn", sentence=f"{title}: {new.sentence}")
            case "secondary_logic" | "no_secondary_key" | "no_additional_key" | "excluded" | "excluded_all":
                yield Cause(code="secondary_key", sentence=f"{title}: {new.sentence}")
            case "no_key" if miss is not None and miss.kind == "depth":
                where = "" if miss.message is None else f" in message {miss.message}"
                yield Cause(code="left_scan_depth", sentence=f"{title}: “{miss.key}”{where} left the scan depth")
            case "no_key" if old.key is not None:
                yield Cause(code="entry_silent", sentence=f"{title}: “{old.key}” is not found any more")
            case _:
                yield from self._filtered(new)
        yield Cause(code="entry_silent", sentence=f"{title}: {new.sentence}")

    def _filtered(self, entry: ExplainedEntry) -> Iterator[Cause]:
        cause = None
        if entry.reason == "filtered_trigger":
            cause = generation_changed(self._facts)
        elif entry.reason in ("filtered_character", "filtered_tag"):
            cause = character_changed(self._facts)
        if cause is not None:
            yield cause


def _activation(title: str, entry: ExplainedEntry) -> Cause:
    match entry.cause:
        case "key" if entry.key is not None:
            where = "" if entry.message is None else f" in message {entry.message}"
            return Cause(code="entry_activated", sentence=f"{title} activated by “{entry.key}”{where}")
        case "recursion":
            return Cause(code="recursion", sentence=f"{title} activated by “{entry.key}” in another entry")
        case "sticky":
            return Cause(code="sticky", sentence=f"{title}: still sticky")
        case _:
            return Cause(code="entry_activated", sentence=f"{title} activated: {entry.sentence}")
