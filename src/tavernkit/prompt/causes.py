"""What a change between two prompts comes from, and the facts that differ between them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tavernkit.prompt.reasons import Facts
from tavernkit.values import Value

CauseCode: TypeAlias = Literal[
    "artifact_added",
    "artifact_removed",
    "artifact_version",
    "book_added",
    "book_removed",
    "budget",
    "card_edited",
    "card_version",
    "chance",
    "character_changed",
    "chat_edited",
    "cooldown_began",
    "cooldown_ended",
    "delay_ended",
    "entry_activated",
    "entry_added",
    "entry_edited",
    "entry_off",
    "entry_on",
    "entry_removed",
    "entry_silent",
    "evicted",
    "generation_changed",
    "group_lost",
    "group_won",
    "history_window",
    "injection_changed",
    "left_scan_depth",
    "macro_answer",
    "memory_changed",
    "message_deleted",
    "message_edited",
    "message_hidden",
    "message_shown",
    "message_summed_up",
    "model_changed",
    "new_message",
    "note_due",
    "note_edited",
    "note_moved",
    "persona_changed",
    "persona_edited",
    "persona_moved",
    "preset_changed",
    "preset_field",
    "prompt_added",
    "prompt_edited",
    "prompt_moved",
    "prompt_off",
    "prompt_on",
    "prompt_order",
    "prompt_removed",
    "recursion",
    "regex_edited",
    "regex_off",
    "regex_on",
    "secondary_key",
    "setting_changed",
    "sticky",
    "sticky_ended",
    "swipe_changed",
    "template_changed",
    "template_edited",
    "time_passed",
    "toggle_changed",
    "trigger_changed",
    "turn",
    "unknown",
    "user_setting",
    "variable_changed",
]
"""The causes that a change can have."""


class Cause(Value, frozen=True, kw_only=True):
    """Why something has changed: a word for programs, and a sentence for people."""

    code: CauseCode
    sentence: str


class FactChange(Value, frozen=True, kw_only=True):
    """A fact that differs; None is one that is not known of that prompt."""

    name: str
    old: str | None
    new: str | None

    @property
    def from_to(self) -> str:
        """The two values, in words."""
        return f"from {self.old or 'nothing'} to {self.new or 'nothing'}"


class FactChanges:
    """The facts that differ between two prompts."""

    def __init__(self, before: Facts, after: Facts) -> None:
        self.before = before
        self.after = after

    def of(self, kind: str) -> dict[str, FactChange]:
        """The facts of a kind that differ, by name."""
        old, new = self.before.get(kind, {}), self.after.get(kind, {})
        return {
            name: FactChange(name=name, old=old.get(name), new=new.get(name))
            for name in {**old, **new}
            if old.get(name) != new.get(name)
        }

    def get(self, kind: str, name: str) -> FactChange | None:
        """One fact, if it differs."""
        old, new = self.before.get(kind, {}).get(name), self.after.get(kind, {}).get(name)
        return None if old == new else FactChange(name=name, old=old, new=new)

    def value(self, kind: str, name: str) -> str:
        """A fact as it is after the change, or was before it."""
        return self.after.get(kind, {}).get(name) or self.before.get(kind, {}).get(name) or ""


_SETTINGS = {
    "context size": "Context size",
    "reply size": "Reply size",
    "depth": "Scan depth",
    "lore_depth": "Scan depth",
    "min_activations": "Minimum activations",
    "budget_percent": "Lore budget in percent",
    "budget_cap": "Lore budget cap",
    "lore_tokens": "Lore budget",
    "recursive": "Recursive scanning",
    "lore_is_recursive": "Recursive scanning",
    "match_whole_words": "Matching of whole words",
    "lore_full_words": "Matching of whole words",
    "case_sensitive": "Case sensitivity",
}


def setting_changed(change: FactChange) -> Cause:
    """A setting by the name that people know it by."""
    name = _SETTINGS.get(change.name) or change.name.replace("_", " ").capitalize()
    return Cause(code="setting_changed", sentence=f"{name} changed {change.from_to}")


def generation_changed(facts: FactChanges) -> Cause | None:
    """That the prompt is for another kind of generation."""
    change = facts.get("build", "generation")
    return None if change is None else _told("generation_changed", f"Generation type changed {change.from_to}")


def character_changed(facts: FactChanges) -> Cause | None:
    """That somebody else speaks."""
    change = facts.get("build", "character")
    return None if change is None else _told("character_changed", f"Character changed {change.from_to}")


def _told(code: CauseCode, sentence: str) -> Cause:
    return Cause(code=code, sentence=sentence)


def messages(count: int) -> str:
    """So many messages, in words."""
    return "1 message" if count == 1 else f"{count} messages"
