"""The application for commands: its settings, and what is done while it is open; imported only by commands that need
it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from tavernkit.cli.errors import UsageError

if TYPE_CHECKING:
    from tavernkit.playground.base.config import AppConfig
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.prompt.sources import Explanation

T = TypeVar("T")


@contextmanager
def application() -> Iterator[None]:
    """Say what to install when the application's packages are not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The application is not installed ({error.name} is missing): pip install 'tavernkit[playground]'."
        ) from error


def settings(**given: Any) -> AppConfig:
    """The settings of the environment, and those that were given."""
    from pydantic import ValidationError

    from tavernkit.playground.base.config import AppConfig

    try:
        return AppConfig(**given)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise UsageError(f"A setting is invalid: {problems}. Settings are TAVERNKIT_… environment variables.") from None


def with_runtime(action: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do something with the application of the settings; what it refuses is said in its sentence."""
    from tavernkit.playground.base.refused import Refused
    from tavernkit.playground.base.runtime import open_runtime

    async def act() -> T:
        async with open_runtime(settings()) as runtime:
            return await action(runtime)

    try:
        return asyncio.run(act())
    except Refused as refused:
        raise UsageError(refused.sentence) from None


async def explanation_of_run(runtime: Runtime, run_id: UUID) -> Explanation:
    """Where the prompt of a run comes from, as the owner of its space may see it."""
    from tavernkit.playground.story.previews.explanations import read_explanation
    from tavernkit.playground.story.replaying.replay import owner_of_run

    return await read_explanation(runtime, await owner_of_run(runtime, run_id), run_id)
