"""The settings of World Info, as SillyTavern names and limits them."""

from __future__ import annotations

import math
from enum import IntEnum

from tavernkit.reading import LooseObject
from tavernkit.values import Value


class InsertionStrategy(IntEnum):
    """How the character's books and the global ones are ordered against each other."""

    EVENLY = 0
    CHARACTER_FIRST = 1
    GLOBAL_FIRST = 2


class WorldInfoSettings(Value, frozen=True, kw_only=True):
    """The defaults are those of SillyTavern's code; `SHIPPED_SETTINGS` is what a fresh installation has."""

    depth: int = 2
    min_activations: int = 0
    min_activations_depth_max: int = 0
    budget_percent: float = 25
    budget_cap: int = 0
    include_names: bool = True
    recursive: bool = False
    max_recursion_steps: int = 0
    case_sensitive: bool = False
    match_whole_words: bool = False
    strategy: InsertionStrategy = InsertionStrategy.CHARACTER_FIRST
    use_group_scoring: bool = False

    def budget(self, max_context: int) -> int:
        """The tokens that lore may take of a context of this size; never less than one."""
        budget = math.floor(self.budget_percent * max_context / 100 + 0.5) or 1
        return self.budget_cap if 0 < self.budget_cap < budget else budget

    def message_text(self, speaker: str, text: str) -> str:
        """A message as it is scanned."""
        return f"{speaker}: {text}" if self.include_names else text


SHIPPED_SETTINGS = WorldInfoSettings(recursive=True, match_whole_words=True)


def read_settings(source: LooseObject) -> WorldInfoSettings:
    """Read SillyTavern's `world_info_*` settings; what is not there keeps the default of its code.

    `world_info_overflow_alert` is left alone: it asks for a pop-up, and the result says whether the budget overflowed.
    """
    default = WorldInfoSettings()
    strategy = source.integer("world_info_character_strategy", default=default.strategy)
    return WorldInfoSettings(
        depth=source.integer("world_info_depth", default=default.depth),
        min_activations=source.integer("world_info_min_activations", default=default.min_activations),
        min_activations_depth_max=source.integer(
            "world_info_min_activations_depth_max", default=default.min_activations_depth_max
        ),
        budget_percent=source.number("world_info_budget", default=default.budget_percent),
        budget_cap=source.integer("world_info_budget_cap", default=default.budget_cap),
        include_names=source.flag("world_info_include_names", default=default.include_names),
        recursive=source.flag("world_info_recursive", default=default.recursive),
        max_recursion_steps=source.integer("world_info_max_recursion_steps", default=default.max_recursion_steps),
        case_sensitive=source.flag("world_info_case_sensitive", default=default.case_sensitive),
        match_whole_words=source.flag("world_info_match_whole_words", default=default.match_whole_words),
        strategy=InsertionStrategy(strategy)
        if strategy in InsertionStrategy.__members__.values()
        else default.strategy,
        use_group_scoring=source.flag("world_info_use_group_scoring", default=default.use_group_scoring),
    )
