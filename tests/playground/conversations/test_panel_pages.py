"""The tree of conversations, the page of a space, and the runs of a conversation with their prompts."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert, select

from tavernkit.playground.base.database.models import Conversation, Message, Run, User
from tavernkit.playground.edge.presenting.conversation_tree import (
    BRANCHES_AT_ONCE,
    LEVELS_SHOWN,
    TreeBranchesView,
    tree_view,
)
from tavernkit.playground.story.conversations.forking import fork
from tests.playground.spaces.panel import FRAME, SidePanel, side_panel, words
from tests.playground.support.counting import counted_statements

pytestmark = pytest.mark.anyio

HOSTILE = '<script>alert("1")</script>'


async def test_the_tree_shows_every_branch_below_where_it_left(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        left = await _branch(at, at.conversation_id, "Left")
        lower = await _branch(at, left, "Lower")
        await _branch(at, at.conversation_id, "Right")
        view = await tree_view(at.play.runtime, at.play.viewer, lower)
        assert drawn(view.branches) == ["Main", ["Left", ["Lower"], "Right"]]
        html = await at.see(f"/conversations/{lower}/tree")
        assert "from “Left” at message 1" in words(html)
        assert "I am Ada." in words(html)
        assert html.count("<strong>Current</strong>") == 1


def drawn(branches: TreeBranchesView) -> list[Any]:
    """The names in the tree, with a list behind each that is open; how many there are, behind one that is not."""
    found: list[Any] = []
    for node in branches.nodes:
        found.append(node.name)
        if node.branches_count:
            found.append(node.branches_count if node.branches is None else drawn(node.branches))
    return found


async def test_a_large_tree_is_open_along_the_way_here_and_read_page_by_page(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        play, below = at.play, await _branch(at, at.conversation_id, "Early")
        here = await _branch(at, below, "Here")
        await _branch(at, here, "Beneath")
        late = await _branch(at, at.conversation_id, "Late")
        await _branch(at, late, "Hidden")
        async with play.runtime.database.write() as session:
            template = await session.get_one(Conversation, below)
            fixed = {column.key: getattr(template, column.key) for column in Conversation.__table__.c}
            rows = [{**fixed, "id": uuid4(), "title": f"Other {number}"} for number in range(300)]
            await session.execute(insert(Conversation), rows)
        with counted_statements(play.runtime.database) as statements:
            view = await tree_view(play.runtime, play.viewer, here)
        assert len(statements) <= 8
        main, [first, *others] = drawn(view.branches)
        assert (main, first, view.count) == ("Main", "Early", 306)
        # The way here is open, and comes first.
        assert others[0] == ["Here", ["Beneath"]]
        top = view.branches.nodes[0].branches
        assert top is not None
        assert len(top.nodes) == BRANCHES_AT_ONCE
        seen, more = [node.name for node in top.nodes], top.more
        while more:
            html = await at.see(more)
            seen += re.findall(r'class="story-name-link"[^>]*>([^<]+)<', html)
            found = re.search(r'href="(/conversations/[^"]+\?after=[^"]+)"', html)
            more = found[1] if found else ""
        assert sorted(seen) == sorted(["Early", "Late", *(row["title"] for row in rows)])
        assert "Hidden" in words(await at.see(f"/conversations/{here}/tree/{late}"))
        html = await at.see(f"/conversations/{here}/tree?search=other+29")
        assert "13 conversations found." in words(html)
        assert html.count("story-name-link") == 13
        await at.see(f"/conversations/{here}/tree/{uuid4()}", status=404)
        await at.see(f"/conversations/{here}/tree/{late}?after={here}", status=404)


async def test_of_a_deep_tree_the_last_levels_are_shown(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        branch = at.conversation_id
        for number in range(LEVELS_SHOWN + 2):
            branch = await _branch(at, branch, f"Level {number}")
        html = await at.see(f"/conversations/{branch}/tree")
        assert "3 levels above" in words(html)
        assert html.count("story-name-link") == LEVELS_SHOWN


async def test_a_conversation_is_renamed_and_a_title_that_is_none_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        path = f"/conversations/{at.conversation_id}/name"
        await at.press(path, settings_version=0, title=HOSTILE)
        html = await at.see(f"/conversations/{at.conversation_id}/tree")
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html
        assert "Enter a title." in (await at.press(path, settings_version=1, title=" ", status=422)).text
        late = await at.press(path, settings_version=0, title="My words", status=409)
        assert 'value="My words"' in late.text
        assert "changed in the meantime" in late.text


async def test_a_branch_without_a_title_is_named_after_where_it_leaves(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        branch = await _branch(at, at.conversation_id, "")
        name, path = "From message 1: “I am Ada.”", f"/conversations/{branch}/name"
        for page in (f"/conversations/{branch}", f"/conversations/{branch}/tree", path):
            assert name in await at.see(page)
        assert f'placeholder="{name}"' in await at.see(f"{path}?edit=true")
        await at.press(path, settings_version=0, title="The lamp")
        assert name not in words(await at.see(f"/conversations/{branch}/tree"))
        await at.press(path, settings_version=1, title="")
        assert name in words(await at.see(f"/conversations/{branch}/tree"))
        async with at.play.runtime.database.write() as session:
            (await session.get_one(User, at.play.viewer.user_id)).language = "ru"
        assert "От сообщения 1: «I am Ada.»" in words(await at.see(f"/conversations/{branch}/tree"))


async def test_deleting_goes_back_to_what_is_left(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        assert "Delete" not in words(await at.see(f"/conversations/{at.conversation_id}/tree"))
        branch = await _branch(at, at.conversation_id, "Left")
        path = f"/conversations/{branch}/delete"
        answer = await at.press(path, here=branch)
        tree = f"/conversations/{at.conversation_id}/tree"
        assert answer.headers["location"] == f"{tree}?trashed=conversation/{branch}"
        await at.press(path, here=branch, status=404)
        only = await at.press(f"/conversations/{at.conversation_id}/delete", status=409)
        assert "A space has at least one conversation." in only.text


async def test_the_bar_names_space_conversation_and_branch(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        branch = await _branch(at, at.conversation_id, "Left")
        html = await at.see(f"/conversations/{branch}")
        bar = html.partition("<header")[2].partition("</header>")[0]
        assert f'href="/spaces/{at.space_id}"' in bar
        assert f'href="/conversations/{at.conversation_id}"' in bar
        assert "Branch Left" in words(bar)
        assert 'aria-controls="side_panel" aria-expanded="false"' in bar
        # The panel costs nothing before it is opened.
        assert " src=" not in html.partition('<turbo-frame id="side_panel_frame"')[2].partition(">")[0]


async def test_a_space_has_a_page_where_conversations_begin(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada", "Bo") as at:
        html = words(await at.see(f"/spaces/{at.space_id}"))
        assert "Ada and Bo" in html
        begun = await at.press(f"/spaces/{at.space_id}/conversations")
        assert words(await at.see(begun.headers["location"])).count("I am Ada.") == 1
        assert "Conversation 2" in words(await at.see(f"/spaces/{at.space_id}"))
        await at.press(f"/spaces/{at.space_id}", settings_version=0, name="The lighthouse")
        assert "The lighthouse" in await at.see(f"/spaces/{at.space_id}")
        kept = await at.press(f"/spaces/{at.space_id}", settings_version=0, name="Mine", status=409)
        assert 'value="Mine"' in kept.text
        await at.press(f"/spaces/{at.space_id}", settings_version=1, archived="true")
        closed = words(await at.see(f"/spaces/{at.space_id}"))
        assert "Create conversation" not in closed
        assert "Restore" in closed
        await at.press(f"/spaces/{at.space_id}/delete")
        await at.see(f"/spaces/{at.space_id}", status=404)


async def test_a_long_list_of_conversations_has_pages(sqlite_url: str, tmp_path: Path) -> None:
    async with side_panel(sqlite_url, tmp_path, "Ada") as at:
        for _ in range(31):
            await at.press(f"/spaces/{at.space_id}/conversations")
        first = await at.see(f"/spaces/{at.space_id}")
        more = re.search(r'href="(/spaces/[^"]+after=[^"]+)"', first)
        assert more
        second = await at.see(more[1])
        assert first.count('class="space-story"') == 30
        assert second.count('class="space-story"') == 2
        await at.see(f"/spaces/{at.space_id}?after=nonsense", status=422)


async def test_runs_are_listed_with_what_they_used_and_keep_their_prompt(database_url: str, tmp_path: Path) -> None:
    async with side_panel(database_url, tmp_path, "Ada") as at:
        assert "No runs yet" in await at.see(f"{at.panel}/runs", headers=FRAME)
        at.play.conversation_id = at.conversation_id
        async with at.play.working():
            for sentence in ("[[say: One.]]", "[[say: Two.]]"):
                await at.play.say(sentence)
                await at.play.until(lambda run: run.status == "succeeded")
        runs = words(await at.see(f"{at.panel}/runs"))
        assert runs.count("Done · Reply") == 2
        assert "tokens" in runs
        async with at.play.runtime.database.read() as session:
            newest = (await session.scalars(select(Run.id).order_by(Run.created_at.desc()).limit(1))).one()
        assert "[[say: Two.]]" in words(await at.see(f"/runs/{newest}"))
        assert "Raw request" in words(await at.see(f"/runs/{newest}?tab=request"))
        changes = words(await at.see(f"/runs/{newest}?tab=changes"))
        assert "Compare with" in changes
        assert "[[say: Two.]]" in changes
        assert "Added:" in changes
        await at.see(f"/runs/{at.space_id}", status=404)


async def _branch(at: SidePanel, conversation_id: UUID, title: str) -> UUID:
    async with at.play.runtime.database.read() as session:
        last = await session.scalars(
            select(Message.id).where(Message.conversation_id == conversation_id).order_by(Message.seq.desc()).limit(1)
        )
        message_id = last.one()
    child = await fork(at.play.runtime, at.play.viewer, conversation_id, message_id, title=title)
    assert isinstance(child, Conversation), child
    return child.id
