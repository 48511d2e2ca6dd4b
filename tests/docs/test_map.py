"""The page of the architecture names every room, and its walks lead through files that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tavernkit"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
DECISIONS = ROOT / "docs" / "decisions"
WALKS = [section for section in PAGE.split("\n## ") if section.startswith("Walk: ")]
FILE = re.compile(r"`([\w/]+\.(?:py|ts|html))`")
TIERS = ("edge", "story", "base")


def rooms() -> list[str]:
    """Packages below the library and its packages, below the tiers, and modules that stand alone beside them."""
    packages = [path.parent for path in SOURCE.rglob("__init__.py")]
    names = [path.relative_to(SOURCE).as_posix() for path in packages if path != SOURCE]
    deepest = {name: 3 if name.startswith("playground/") else 2 for name in names}
    modules = [path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]
    return sorted([*(name for name in names if name.count("/") < deepest[name]), *modules])


def test_every_room_is_named() -> None:
    named = set(re.findall(r"`([\w/]+)`", PAGE))
    short = {f"playground/{name}" for name in named}
    assert len(rooms()) > 50
    assert [room for room in rooms() if room not in named | short] == []


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.splitlines()[0])
def test_every_file_of_a_walk_exists(walk: str) -> None:
    files = FILE.findall(walk)
    assert len(files) > 10
    assert [file for file in files if not (SOURCE / file).exists() and not (ROOT / file).exists()] == []


def test_there_are_walks_of_a_build_a_message_and_an_artifact() -> None:
    assert [walk.splitlines()[0] for walk in WALKS] == ["Walk: a build", "Walk: a message", "Walk: an artifact"]


@pytest.mark.parametrize("tier", TIERS)
def test_the_order_of_rooms_is_that_of_the_contracts(tier: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [one["layers"] for one in contracts if one.get("containers") == [f"tavernkit.playground.{tier}"]]
    block = re.search(rf"^{tier} +((?:(?!{'|'.join(TIERS)}|```).+\n)+)", PAGE, re.MULTILINE)
    assert block is not None
    assert [line.strip() for line in block[1].splitlines()] == layers


def test_every_decision_is_in_the_index() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (DECISIONS / "README.md").read_text()))
    assert listed == {path.name for path in DECISIONS.glob("*.md")} - {"README.md"}
