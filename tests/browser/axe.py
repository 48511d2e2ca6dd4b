"""What axe finds on a page."""

from pathlib import Path

from playwright.sync_api import Page

__all__ = ["violations"]

AXE = (Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js").read_text()
# What is right is not listed, which is most of the work.
RUN = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
  .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`))"""


def violations(page: Page) -> list[str]:
    """Everything that axe complains about, with the element that it means."""
    if not page.evaluate("() => 'axe' in window"):
        # Evaluated and not added as a script: the page allows no scripts but its own.
        page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN)
    return found
