"""TavernKit: prompts for stories told with language models, with a reason for every token.

import tavernkit

card = tavernkit.characters.load("mira.png").card
built = tavernkit.build(character=card.character, user=tavernkit.User(name="Robin"), message="Hello!")
built.plan.to_messages("anthropic")

The platforms, `tavernkit.sillytavern` and `tavernkit.risuai`, are imported when they are first used.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from tavernkit import characters, dialects, lore
from tavernkit.characters import Character, CharacterCard, User
from tavernkit.errors import (
    ArchiveParseError,
    DialectError,
    InvalidCardError,
    LoreParseError,
    MissingInputError,
    ParseError,
    PipelineError,
    PngParseError,
    PngWriteError,
    PresetParseError,
    StrictModeError,
    TavernKitError,
    TokenBudgetExceeded,
    UnknownDialectError,
    UnsupportedVersionError,
)
from tavernkit.history import ChatHistory, InMemoryHistory
from tavernkit.history import wrap as wrap_history
from tavernkit.hooks import BuildHooks, HookRegistry
from tavernkit.injections import Injection, InjectionRegistry, Injections
from tavernkit.load_hooks import LoadHooks, on_load, run_load_hooks
from tavernkit.lore import (
    Book,
    Entry,
    LoreEngine,
    LoreResult,
    LoreVerdict,
    PlainLore,
    ScanInput,
    TimedEffect,
    TimedState,
)
from tavernkit.macros import (
    MacroEngine,
    MacroEnvironment,
    MacroRegistry,
    NameEnvironment,
    NameMacros,
    Variables,
    VariablesStore,
)
from tavernkit.presets import BudgetPreset, Preset
from tavernkit.prompt.block import Block
from tavernkit.prompt.build import BuildInputs, build, run
from tavernkit.prompt.built import BuildResult, Built, Reply, Request
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Attachment, Message
from tavernkit.prompt.parts import Part
from tavernkit.prompt.pipeline import Pipeline, Stage
from tavernkit.prompt.plain import plain_pipeline
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.tokens import TokenEstimator
from tavernkit.prompt.trace import Instrumenter, Trace, TraceCollector, TraceStage
from tavernkit.prompt.trimming import EvictionRecord, Trimmer, TrimReport, TrimResult
from tavernkit.prompt.warning import BuildWarning

if TYPE_CHECKING:
    from tavernkit import risuai, sillytavern
else:

    def __getattr__(name: str) -> ModuleType:
        if name in ("risuai", "sillytavern"):
            return import_module(f"tavernkit.{name}")
        raise AttributeError(f"module 'tavernkit' has no attribute {name!r}")


__version__ = "0.1.0"

__all__ = [
    "ArchiveParseError",
    "Attachment",
    "Block",
    "Book",
    "BudgetPreset",
    "BuildHooks",
    "BuildInputs",
    "BuildResult",
    "BuildWarning",
    "Built",
    "Character",
    "CharacterCard",
    "ChatHistory",
    "Context",
    "DialectError",
    "Entry",
    "EvictionRecord",
    "HookRegistry",
    "InMemoryHistory",
    "Injection",
    "InjectionRegistry",
    "Injections",
    "Instrumenter",
    "InvalidCardError",
    "LoadHooks",
    "LoreEngine",
    "LoreParseError",
    "LoreResult",
    "LoreVerdict",
    "MacroEngine",
    "MacroEnvironment",
    "MacroRegistry",
    "Message",
    "MissingInputError",
    "NameEnvironment",
    "NameMacros",
    "ParseError",
    "Part",
    "Pipeline",
    "PipelineError",
    "PlainLore",
    "Plan",
    "PngParseError",
    "PngWriteError",
    "Preset",
    "PresetParseError",
    "Reply",
    "Request",
    "ScanInput",
    "Stage",
    "StrictModeError",
    "TavernKitError",
    "TimedEffect",
    "TimedState",
    "TokenBudgetExceeded",
    "TokenEstimator",
    "Trace",
    "TraceCollector",
    "TraceStage",
    "TrimReport",
    "TrimResult",
    "Trimmer",
    "UnknownDialectError",
    "UnsupportedVersionError",
    "User",
    "Variables",
    "VariablesStore",
    "build",
    "characters",
    "dialects",
    "lore",
    "on_load",
    "plain_pipeline",
    "risuai",
    "run",
    "run_load_hooks",
    "sillytavern",
    "wrap_history",
]
