"""Card files on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.characters import card_files


@pytest.fixture
def card_json(tmp_path: Path) -> Path:
    path = tmp_path / "ysolde.json"
    path.write_text(json.dumps(card_files.v3()))
    return path


@pytest.fixture
def card_png(tmp_path: Path) -> Path:
    path = tmp_path / "ysolde.png"
    path.write_bytes(card_files.png(card_files.text("ccv3", card_files.packed(card_files.v3()))))
    return path


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    path.write_bytes(card_files.png())
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.json"
    path.write_text('{"spec": "chara_card_v3", ')
    return path


@pytest.fixture
def from_the_future(tmp_path: Path) -> Path:
    path = tmp_path / "future.json"
    path.write_text(json.dumps({"spec": "chara_card_v9", "spec_version": "9.0", "data": {"name": "Ysolde"}}))
    return path
