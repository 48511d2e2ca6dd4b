"""Running stages in order, and telling which one failed and how long each took."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TypeAlias, TypeVar

from tavernkit.errors import PipelineError
from tavernkit.prompt.context import Context

T = TypeVar("T")

Stage: TypeAlias = Callable[[Context], Generator[None, None, None] | None]
"""A function of the context. One that must also act on the way out is a generator that yields once."""


class Pipeline:
    """An ordered list of named stages. Immutable: every edit returns a new pipeline."""

    def __init__(self, stages: Iterable[tuple[str, Stage]]) -> None:
        self._stages = tuple(stages)
        self.names = tuple(name for name, _ in self._stages)
        if not self._stages:
            raise ValueError("a pipeline needs at least one stage")
        if len(set(self.names)) < len(self.names):
            doubled = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"two stages are named {doubled!r}; names must be unique")

    def __iter__(self) -> Iterator[tuple[str, Stage]]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def append(self, name: str, stage: Stage) -> Pipeline:
        return Pipeline([*self._stages, (name, stage)])

    def insert_before(self, anchor: str, name: str, stage: Stage) -> Pipeline:
        return self._splice(self._position(anchor), 0, (name, stage))

    def insert_after(self, anchor: str, name: str, stage: Stage) -> Pipeline:
        return self._splice(self._position(anchor) + 1, 0, (name, stage))

    def replace(self, name: str, stage: Stage) -> Pipeline:
        return self._splice(self._position(name), 1, (name, stage))

    def remove(self, name: str) -> Pipeline:
        return self._splice(self._position(name), 1)

    def run(self, ctx: Context) -> Context:
        """Run every stage, then the second halves in reverse.

        An exception becomes a PipelineError that names the stage, save for a verdict of the context itself (a strict
        warning, a budget that cannot be met), which passes as it is.
        """
        suspended: list[tuple[str, Half]] = []
        try:
            for name, stage in self._stages:
                rest = _run_half(ctx, name, _first_half, stage)
                if rest is not None:
                    suspended.append((name, rest))
            while suspended:
                name, rest = suspended.pop()
                _run_half(ctx, name, _second_half, rest)
        finally:
            for _, rest in suspended:
                rest.close()
        return ctx

    def _position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(f"no stage {name!r}; there are {', '.join(self.names)}") from None

    def _splice(self, at: int, drop: int, *new: tuple[str, Stage]) -> Pipeline:
        return Pipeline([*self._stages[:at], *new, *self._stages[at + drop :]])


Half: TypeAlias = Generator[None, None, None]


def _first_half(stage: Stage, ctx: Context) -> Half | None:
    generator = stage(ctx)
    if generator is None:
        return None
    try:
        next(generator)
    except StopIteration:
        return None
    return generator


def _second_half(generator: Half, _: Context) -> None:
    try:
        next(generator)
    except StopIteration:
        return
    generator.close()
    raise RuntimeError("a stage may yield only once")


def _run_half(ctx: Context, name: str, run: Callable[[T, Context], Half | None], what: T) -> Half | None:
    ctx.current_stage = name
    watched = ctx.instrumenter is not None
    began = 0.0
    if watched:
        ctx.instrument("middleware_start", name=name)
        began = ctx.timer()
    try:
        rest = run(what, ctx)
    except Exception as error:
        ctx.instrument("middleware_error", name=name, error=error, duration_ms=(ctx.timer() - began) * 1000)
        if error is ctx.verdict:
            raise
        raise PipelineError(str(error) or type(error).__name__, stage=name) from error
    finally:
        ctx.current_stage = None
    if watched:
        ctx.instrument("middleware_finish", name=name, duration_ms=(ctx.timer() - began) * 1000)
    return rest
