"""Running stages in order, and telling which one failed and how long each took."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from tavernkit.errors import PipelineError
from tavernkit.prompt.context import Context

__all__ = ["Pipeline", "Stage"]

Stage: TypeAlias = Callable[[Context], Generator[None, None, None] | None]
"""A function of the context. One that must also act on the way out is a generator that yields once."""


class Pipeline:
    """An ordered list of named stages. Immutable: every edit returns a new pipeline."""

    def __init__(self, stages: Iterable[tuple[str, Stage]]) -> None:
        self._stages = tuple(stages)
        if not self._stages:
            raise ValueError("a pipeline needs at least one stage")
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"two stages are named {name!r}; names must be unique")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._stages)

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
        suspended: list[tuple[str, Generator[None, None, None]]] = []
        try:
            for name, stage in self._stages:
                second_half = _run_part(ctx, name, partial(_first_half, stage, ctx))
                if second_half is not None:
                    suspended.append((name, second_half))
            while suspended:
                name, second_half = suspended.pop()
                _run_part(ctx, name, partial(_finish, second_half))
        finally:
            for _, second_half in suspended:
                second_half.close()
        return ctx

    def _position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(f"no stage {name!r}; there are {', '.join(self.names)}") from None

    def _splice(self, at: int, drop: int, *new: tuple[str, Stage]) -> Pipeline:
        return Pipeline([*self._stages[:at], *new, *self._stages[at + drop :]])


SecondHalf: TypeAlias = Generator[None, None, None] | None


def _first_half(stage: Stage, ctx: Context) -> SecondHalf:
    generator = stage(ctx)
    if generator is None:
        return None
    try:
        next(generator)
    except StopIteration:
        return None
    return generator


def _finish(generator: Generator[None, None, None]) -> None:
    try:
        next(generator)
    except StopIteration:
        return
    generator.close()
    raise RuntimeError("a stage may yield only once")


def _run_part(ctx: Context, name: str, part: Callable[[], SecondHalf]) -> SecondHalf:
    ctx.current_stage = name
    ctx.instrument("middleware_start", name=name)
    began = ctx.timer()
    try:
        second_half = part()
    except Exception as error:
        ctx.instrument("middleware_error", name=name, error=error, duration_ms=(ctx.timer() - began) * 1000)
        if error is ctx.verdict:
            raise
        raise PipelineError(_sentence(error), stage=name) from error
    else:
        ctx.instrument("middleware_finish", name=name, duration_ms=(ctx.timer() - began) * 1000)
        return second_half
    finally:
        ctx.current_stage = None


def _sentence(error: Exception) -> str:
    return str(error) or type(error).__name__
