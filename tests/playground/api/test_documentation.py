"""The documentation as pages of the application, and the links to it from every other page."""

import re
from pathlib import Path

import pytest

from tavernkit.playground.edge.presenting.documentation import docs_files, docs_groups, docs_page
from tests.playground.api.routes import Route, all_routes
from tests.playground.api.test_authorisation import REQUESTS, Ask, prepared, send
from tests.playground.api.world import Person, Things, World, open_world

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parents[3] / "docs"
PAGE_ROUTES = [route for route in all_routes() if route.method == "GET" and route.name.endswith("(page)")]
# These two are not in the schema, because only people use them.
ACCOUNT_PAGES = ("/sign-in", "/sign-up", "/account")
# The documentation itself, what is shown while it cannot be read, and stories for people who are not users.
UNEXPLAINED = ("/docs", "/offline", "/shared/")


def leads_somewhere(address: str) -> bool:
    path, _, anchor = address.partition("#")
    page = docs_page(path.removeprefix("/docs").removeprefix("/"))
    return path.startswith("/docs") and page is not None and (not anchor or anchor in page.anchors)


def learn_more_links(html: str) -> list[str]:
    return re.findall(r'<a [^>]*href="(/docs/[^"]+)"[^>]*>(?:Learn more|<svg)', html)


def test_every_markdown_file_of_the_folder_is_a_page() -> None:
    assert set(docs_files().values()) == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_the_list_of_pages_names_each_once() -> None:
    listed = [link.address for group in docs_groups() for link in group.links]
    pages = {f"/docs/{name}" for name in docs_files() if name and not name.startswith("decisions/")}
    assert sorted(listed) == sorted(pages)


@pytest.mark.parametrize("name", sorted(docs_files()))
def test_every_link_of_a_page_leads_to_a_page_and_an_anchor(name: str) -> None:
    page = docs_page(name)
    assert page is not None
    links = [link for link in re.findall(r'<a [^>]*?href="([^"]*)"', page.html) if not link.startswith("https://")]
    assert [link for link in links if not leads_somewhere(link)] == []


def test_what_is_only_in_a_checkout_is_no_link() -> None:
    page = docs_page("architecture")
    assert page is not None
    assert "how to add something is in CONTRIBUTING" in page.html


def test_the_html_of_a_page_has_anchors_and_no_scripts() -> None:
    page = docs_page("guide")
    assert page is not None
    assert '<h2 id="lorebooks">Lorebooks</h2>' in page.html
    assert all("<script" not in (docs_page(name) or page).html for name in docs_files())


async def test_every_page_links_to_the_section_that_explains_it(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        checked = {route.name: await links_of(world, route) for route in PAGE_ROUTES}
        browser = await world.client("owner")
        checked |= {path: learn_more_links((await browser.get(path)).text) for path in ACCOUNT_PAGES}
    shown = {name: links for name, links in checked.items() if links is not None}
    assert len(shown) > 40
    assert {name: links for name, links in shown.items() if not links or not all(map(leads_somewhere, links))} == {}


async def links_of(world: World, route: Route) -> list[str] | None:
    """The links of a route that answers with a whole page; nothing for one that answers otherwise."""
    person: Person = "administrator" if route.path.startswith("/models") else "owner"
    answer = await send(world, person, await prepared(route, REQUESTS.get(route.name, Ask()), Things(world)))
    is_page = answer.is_success and answer.text.startswith("<!doctype html>")
    return learn_more_links(answer.text) if is_page and not route.path.startswith(UNEXPLAINED) else None


async def test_the_palette_leads_to_the_documentation(sqlite_url: str, tmp_path: Path) -> None:
    async with open_world(sqlite_url, tmp_path) as world:
        browser = await world.client("owner")
        places = (await browser.get("/palette.json?q=docu")).json()["places"]
        anonymous = await world.client("anonymous")
        page = await anonymous.get("/docs/guide")
        unknown = await anonymous.get("/docs/../secret")
    assert "/docs" in [place["address"] for place in places]
    assert page.status_code == 200
    assert 'id="palette"' not in page.text
    assert unknown.status_code == 404
