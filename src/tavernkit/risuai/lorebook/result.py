"""What a scan gives back."""

from __future__ import annotations

from tavernkit.prompt.warning import BuildWarning
from tavernkit.risuai.lore_entry import LoreEntry
from tavernkit.risuai.lorebook.decorators import LoreInjection
from tavernkit.risuai.lorebook.verdicts import LorebookVerdicts
from tavernkit.values import Value


class ActiveLore(Value, frozen=True, kw_only=True):
    """An entry that is in the prompt. `prompt` has no decorators and its macros are still to be expanded; `depth`
    counts where `pos` is `depth` or `reverse_depth`; a `priority` that is not a number was written so. `source` is
    the name that others inject into; `index` is the place of the entry in the scene's lore."""

    entry: LoreEntry
    index: int
    prompt: str
    depth: int = 0
    pos: str = ""
    role: str = "system"
    order: float = 100
    priority: float = 100
    tokens: int = 0
    source: str = ""
    inject: LoreInjection | None = None


class LorebookResult(Value, frozen=True, kw_only=True):
    """`active` is in the order of the prompt; lore that was injected into other lore is inside it, and not listed.

    `left_out` woke up and did not fit; `total_tokens` is what was taken from the `budget`, `passes` how often the
    entries were gone through, `warnings` what could not be read or took too long.
    """

    active: tuple[ActiveLore, ...]
    left_out: tuple[ActiveLore, ...]
    verdicts: LorebookVerdicts
    total_tokens: int
    budget: int
    passes: int
    warnings: tuple[BuildWarning, ...] = ()
