"""Running stages in order, and telling which one failed and how long each took."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from tavernkit.errors import PipelineError
from tavernkit.prompt.context import Context

Stage: TypeAlias = Callable[[Context], Generator[None, None, None] | None]
"""A function of the context. One that must also act on the way out is a generator that yields once; what later stages
raise is raised at its `yield`."""


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

        An exception ends the stages and is thrown into the second halves instead; one that catches it ends the
        failure, and those before it go on as if nothing had happened. What nobody catches becomes a PipelineError that
        names the stage, save for a verdict of the context itself (a strict warning, a budget that cannot be met), which
        passes as it is.
        """
        if ctx.current_stage is None:
            ctx.begin()
        suspended: list[tuple[str, Half]] = []
        failure: PipelineError | None = None
        try:
            try:
                for name, stage in self._stages:
                    rest = _run_half(ctx, name, partial(_first_half, stage, ctx))
                    if rest is not None:
                        suspended.append((name, rest))
            except PipelineError as raised:
                failure = raised
            while suspended:
                name, rest = suspended.pop()
                try:
                    _run_half(ctx, name, partial(_second_half, rest, failure), failure)
                    failure = None
                except PipelineError as raised:
                    failure = raised
        finally:
            for _, rest in suspended:
                rest.close()
        if failure is not None:
            raise ctx.verdict if ctx.verdict is not None and failure.__cause__ is ctx.verdict else failure
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


def _second_half(generator: Half, failure: PipelineError | None) -> None:
    try:
        if failure is None:
            next(generator)
        else:
            generator.throw(failure.__cause__ or failure)
    except StopIteration:
        return
    generator.close()
    raise RuntimeError("a stage may yield only once")


def _run_half(
    ctx: Context, name: str, run: Callable[[], Half | None], passing: PipelineError | None = None
) -> Half | None:
    """What is left of a stage. Raises what goes on from here: a failure of the stage, or `passing`, not caught."""
    around, ctx.current_stage = ctx.current_stage, name
    watched = ctx.instrumenter is not None
    began = 0.0
    if watched:
        ctx.instrument("middleware_start", name=name)
        began = ctx.timer()
    try:
        rest = run()
    except Exception as error:
        spent = (ctx.timer() - began) * 1000
        if passing is not None and passing.__cause__ is error:
            ctx.instrument("middleware_finish", name=name, duration_ms=spent)
            raise passing from error
        ctx.instrument("middleware_error", name=name, error=error, duration_ms=spent)
        ctx.failure = PipelineError(str(error) or type(error).__name__, stage=name)
        raise ctx.failure from error
    finally:
        ctx.current_stage = around
    if watched:
        ctx.instrument("middleware_finish", name=name, duration_ms=(ctx.timer() - began) * 1000)
    return rest
