"""World Info as SillyTavern 1.15 scans it: which entries wake up, where they go, and why the others do not."""

from tavernkit.lore.timed import TimedEffect, TimedState
from tavernkit.sillytavern.world_info.fields import CharacterFilter, Logic, Position, Source, WorldEntry
from tavernkit.sillytavern.world_info.matching import Place
from tavernkit.sillytavern.world_info.result import (
    Activation,
    DepthInsertion,
    ExampleInsertion,
    Insertions,
    WorldInfoResult,
)
from tavernkit.sillytavern.world_info.scan import WorldInfo
from tavernkit.sillytavern.world_info.scan_input import ScanTexts, WorldInfoInput
from tavernkit.sillytavern.world_info.settings import SHIPPED_SETTINGS, Strategy, WorldInfoSettings, read_settings
from tavernkit.sillytavern.world_info.verdicts import REASONS, NearMiss, Reason, Verdict, Verdicts

__all__ = [
    "REASONS",
    "SHIPPED_SETTINGS",
    "Activation",
    "CharacterFilter",
    "DepthInsertion",
    "ExampleInsertion",
    "Insertions",
    "Logic",
    "NearMiss",
    "Place",
    "Position",
    "Reason",
    "ScanTexts",
    "Source",
    "Strategy",
    "TimedEffect",
    "TimedState",
    "Verdict",
    "Verdicts",
    "WorldEntry",
    "WorldInfo",
    "WorldInfoInput",
    "WorldInfoResult",
    "WorldInfoSettings",
    "read_settings",
]
