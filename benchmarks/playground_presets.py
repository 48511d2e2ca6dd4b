"""The page of a preset with 500 prompts, beside that of one with 50."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from uuid import UUID, uuid4

from tavernkit.benchmarks import Benchmark
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.config import AppConfig
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.runtime import Runtime, open_runtime
from tavernkit.playground.edge.views.presets import preset_view
from tavernkit.playground.edge.web.rendering import render
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset

LONG, SHORT = 500, 50
TEXT = "Write what {{char}} says and does next, and leave it to {{user}} what {{user}} says. " * 10


class Desk:
    """Two presets in an SQLite file; written when somebody first asks, and thrown away at the end."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._runner = asyncio.Runner()
        self._opened = AsyncExitStack()
        self._viewer = Viewer(user_id=uuid4())

    def close(self) -> None:
        self._runner.run(self._opened.aclose())
        self._runner.close()

    def page(self, length: int) -> None:
        runtime, presets = self._filled
        self._runner.run(self._show(runtime, presets[length]))

    async def _show(self, runtime: Runtime, preset_id: UUID) -> None:
        view = await preset_view(runtime, self._viewer, preset_id)
        given = {"name": view.name, "description": view.description}
        shown = {"problem": "", "differences": (), "stories": (), "is_typed": False, "rendering": ""}
        render("presets/preset.html", view=view, given=given, **shown)

    @cached_property
    def _filled(self) -> tuple[Runtime, dict[int, UUID]]:
        return self._runner.run(self._fill())

    async def _fill(self) -> tuple[Runtime, dict[int, UUID]]:
        runtime = await self._opened.enter_async_context(
            open_runtime(AppConfig(data_dir=self._folder, database_url=""))
        )
        async with runtime.database.write() as session:
            session.add(User(id=self._viewer.user_id, name="Somebody", created_at=datetime(2024, 1, 1, tzinfo=UTC)))
        made = {}
        for length in (LONG, SHORT):
            prompts = [{"identifier": f"p{number}", "content": TEXT} for number in range(length)]
            order = [{"identifier": prompt["identifier"], "enabled": True} for prompt in prompts]
            data = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}]}
            new = NewPreset(kind="chat", name=f"{length} prompts", data=data)
            made[length] = (await create_preset(runtime, self._viewer, new)).id
        return runtime, made


def benchmarks() -> Iterator[Benchmark]:
    with tempfile.TemporaryDirectory() as folder, closing(Desk(folder)) as desk:
        yield Benchmark(
            name=f"page of a preset with {LONG} prompts",
            ours=lambda: desk.page(LONG),
            baseline=lambda: desk.page(SHORT),
            note=f"one with {SHORT} prompts",
        )
