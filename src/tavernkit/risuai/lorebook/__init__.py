"""RisuAI's lorebook: which entries belong into a prompt, where they go, and why the others do not."""

from tavernkit.risuai.lorebook.decorators import Decorators, read_decorators
from tavernkit.risuai.lorebook.engine import LorebookEngine, RisuLoreResult
from tavernkit.risuai.lorebook.injection import Injection, Operation
from tavernkit.risuai.lorebook.result import ActiveLore, LorebookResult
from tavernkit.risuai.lorebook.scan import scan
from tavernkit.risuai.lorebook.verdicts import Cause, Place, Reason, Verdict, Verdicts

__all__ = [
    "ActiveLore",
    "Cause",
    "Decorators",
    "Injection",
    "LorebookEngine",
    "LorebookResult",
    "Operation",
    "Place",
    "Reason",
    "RisuLoreResult",
    "Verdict",
    "Verdicts",
    "read_decorators",
    "scan",
]
