"""What the core must know of any preset: how large the window is and how much of it the answer may take."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from tavernkit.values import CheckedValue


class Preset(Protocol):
    """The token budget; everything else in a preset is the platform's. A subclass gets `max_prompt_tokens` for
    nothing."""

    @property
    @abstractmethod
    def context_window_tokens(self) -> int: ...

    @property
    @abstractmethod
    def reserved_response_tokens(self) -> int: ...

    @property
    def max_prompt_tokens(self) -> int:
        """What is left for the prompt."""
        return max(0, self.context_window_tokens - self.reserved_response_tokens)


class BudgetPreset(CheckedValue, frozen=True, kw_only=True):
    """A preset that is only a budget."""

    context_window_tokens: int = 8192
    reserved_response_tokens: int = 1024

    @property
    def max_prompt_tokens(self) -> int:
        return max(0, self.context_window_tokens - self.reserved_response_tokens)
