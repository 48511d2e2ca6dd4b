"""Build hooks: an application's chance to look into one build and change it.

For wiring that happens once when a program starts, see `tavernkit.load_hooks`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tavernkit.load_hooks import LoadScope

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    def __iter__(self) -> Iterator[tuple[str, BuildHook]]:
        """Every hook with the moment that it runs at."""
        moments = ("before_build", self._before_build), ("before_trimming", self._before_trimming)
        for moment, hooks in (*moments, ("after_build", self._after_build)):
            for hook in hooks:
                yield moment, hook

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


shared_hooks = LoadScope("tavernkit.build_hooks", BuildHooks)
"""The hooks that run in every build of this process, before those of the build itself."""


def with_shared(own: HookRegistry | None) -> HookRegistry:
    """The hooks of one build, with the shared ones before them."""
    shared = shared_hooks()
    if own is None:
        own = BuildHooks()
    return own if next(iter(shared), None) is None else _JoinedHooks(shared, own)


class _JoinedHooks:
    def __init__(self, shared: HookRegistry, own: HookRegistry) -> None:
        self._both = (shared, own)
        self.before_build = own.before_build
        self.before_trimming = own.before_trimming
        self.after_build = own.after_build

    def run_before_build(self, ctx: Context) -> None:
        for hooks in self._both:
            hooks.run_before_build(ctx)

    def run_before_trimming(self, ctx: Context) -> None:
        for hooks in self._both:
            hooks.run_before_trimming(ctx)

    def run_after_build(self, ctx: Context) -> None:
        for hooks in self._both:
            hooks.run_after_build(ctx)
