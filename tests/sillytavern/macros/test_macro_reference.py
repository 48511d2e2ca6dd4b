"""The reference page is made from the registries."""

from __future__ import annotations

from pathlib import Path

from tavernkit.sillytavern.macros.reference import render_reference


def test_the_page_in_the_repository_is_current():
    page = Path(__file__).parents[3] / "docs" / "macros.md"
    assert page.read_text(encoding="utf-8") == render_reference()
