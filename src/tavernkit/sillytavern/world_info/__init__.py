"""World Info as SillyTavern 1.15 scans it: which entries wake up, where they go, and why the others do not."""

from tavernkit.lore.verdicts import TimedEffect, TimedState
from tavernkit.prompt.reasons import NearMiss
from tavernkit.sillytavern.world_info.fields import CharacterFilter, Logic, Position, Source, WorldEntry
from tavernkit.sillytavern.world_info.matching import WorldInfoPlace
from tavernkit.sillytavern.world_info.result import (
    REASONS,
    ActivatedEntry,
    DepthInsertion,
    ExampleInsertion,
    Insertions,
    WorldInfoReason,
    WorldInfoResult,
    WorldInfoVerdict,
    WorldInfoVerdicts,
)
from tavernkit.sillytavern.world_info.scan import WorldInfo
from tavernkit.sillytavern.world_info.scan_input import (
    SHIPPED_SETTINGS,
    InsertionStrategy,
    ScanTexts,
    WorldInfoInput,
    WorldInfoSettings,
    read_settings,
)

__all__ = [
    "REASONS",
    "SHIPPED_SETTINGS",
    "ActivatedEntry",
    "CharacterFilter",
    "DepthInsertion",
    "ExampleInsertion",
    "InsertionStrategy",
    "Insertions",
    "Logic",
    "NearMiss",
    "Position",
    "ScanTexts",
    "Source",
    "TimedEffect",
    "TimedState",
    "WorldEntry",
    "WorldInfo",
    "WorldInfoInput",
    "WorldInfoPlace",
    "WorldInfoReason",
    "WorldInfoResult",
    "WorldInfoSettings",
    "WorldInfoVerdict",
    "WorldInfoVerdicts",
    "read_settings",
]
