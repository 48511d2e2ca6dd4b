"""RisuAI's lorebook: which entries belong into a prompt, where they go, and why the others do not."""

from tavernkit.risuai.lorebook.decorators import Decorators, InjectionOperation, LoreInjection, read_decorators
from tavernkit.risuai.lorebook.engine import LorebookEngine, RisuLoreResult
from tavernkit.risuai.lorebook.result import (
    ActiveLore,
    LorebookCause,
    LorebookPlace,
    LorebookReason,
    LorebookResult,
    LorebookVerdict,
    LorebookVerdicts,
)
from tavernkit.risuai.lorebook.scan import scan

__all__ = [
    "ActiveLore",
    "Decorators",
    "InjectionOperation",
    "LoreInjection",
    "LorebookCause",
    "LorebookEngine",
    "LorebookPlace",
    "LorebookReason",
    "LorebookResult",
    "LorebookVerdict",
    "LorebookVerdicts",
    "RisuLoreResult",
    "read_decorators",
    "scan",
]
