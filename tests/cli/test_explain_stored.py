"""`tavernkit explain` on the application's database."""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.cli.running import run
from tests.playground.prompting.prompt_story import prompt_story


async def _told(url: str, folder: Path) -> tuple[UUID, UUID]:
    async with prompt_story(url, folder, "It is late.", cards={"Ada": {"description": "{{char}} paints."}}) as story:
        await story.say_as("Robin", "Is the ferry here?")
        return (await story.answered("Ada")).id, story.conversation_id


def test_prompts_of_runs_and_conversations_are_explained(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, conversation_id = map(str, asyncio.run(_told(sqlite_url, tmp_path)))
    monkeypatch.setenv("TAVERNKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TAVERNKIT_DATABASE_URL", sqlite_url)
    sent = run("explain", "--run", run_id, "--json")
    assert (sent.code, sent.stderr) == (0, "")
    assert sent.document["messages"][-1]["spans"] == [
        {"text": "Is the ferry here?", "source": {"kind": "history", "message": 0}}
    ]
    assert run("explain", "--conversation", conversation_id, "--json").document == sent.document
    following = run("explain", "--conversation", conversation_id, "--next", "--json").document["messages"]
    assert following[-1]["content"] == "It is late."
    report = tmp_path / "report.html"
    assert run("explain", "--run", run_id, "--html", report).code == 0
    assert "description of Ada" in report.read_text()
    for refused in (
        run("explain", "--run", run_id, "--conversation", conversation_id),
        run("explain", "--run", run_id, "--message", "Hello?"),
        run("explain", "--run", str(uuid4())),
        run("explain", "--conversation", str(uuid4())),
    ):
        assert refused.code == 2
