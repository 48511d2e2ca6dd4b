"""What axe finds on a page."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

__all__ = ["violations"]

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """Everything that axe complains about, with the element that it means."""
    # Evaluated and not added as a script: the page allows no scripts but its own.
    page.evaluate(AXE.read_text())
    result: dict[str, Any] = page.evaluate("() => axe.run()")
    return [
        f"{violation['id']}: {violation['help']}: {node['html']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]
