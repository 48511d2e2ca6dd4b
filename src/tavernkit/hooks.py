"""Build hooks: an application's chance to look into one build and change it.

For wiring that happens once when a program starts, see `tavernkit.load_hooks`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from tavernkit.prompt.context import Context

BuildHook: TypeAlias = "Callable[[Context], None]"


class HookRegistry(Protocol):
    """`before_build` hooks run before any stage looks at the inputs and may change them. `before_trimming` hooks run
    when all blocks stand: what they add counts against the budget like everything else. `after_build` hooks see the
    finished plan, in `ctx.plan`."""

    @abstractmethod
    def before_build(self, hook: BuildHook) -> BuildHook: ...

    @abstractmethod
    def before_trimming(self, hook: BuildHook) -> BuildHook: ...

    @abstractmethod
    def after_build(self, hook: BuildHook) -> BuildHook: ...

    @abstractmethod
    def run_before_build(self, ctx: Context) -> None: ...

    @abstractmethod
    def run_before_trimming(self, ctx: Context) -> None: ...

    @abstractmethod
    def run_after_build(self, ctx: Context) -> None: ...


class BuildHooks(HookRegistry):
    """Hooks in the order they were registered. The methods can be used as decorators."""

    def __init__(self) -> None:
        self._before_build: list[BuildHook] = []
        self._before_trimming: list[BuildHook] = []
        self._after_build: list[BuildHook] = []

    def before_build(self, hook: BuildHook) -> BuildHook:
        self._before_build.append(hook)
        return hook

    def before_trimming(self, hook: BuildHook) -> BuildHook:
        self._before_trimming.append(hook)
        return hook

    def after_build(self, hook: BuildHook) -> BuildHook:
        self._after_build.append(hook)
        return hook

    def run_before_build(self, ctx: Context) -> None:
        for hook in self._before_build:
            hook(ctx)

    def run_before_trimming(self, ctx: Context) -> None:
        for hook in self._before_trimming:
            hook(ctx)

    def run_after_build(self, ctx: Context) -> None:
        for hook in self._after_build:
            hook(ctx)
