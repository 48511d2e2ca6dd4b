"""How pages look for an account: what can be chosen, where it is kept, and who sees it."""

from __future__ import annotations

import re

import httpx2
import pytest

from tavernkit.playground.base.accounts.api_keys import create_api_key
from tavernkit.playground.base.accounts.appearance import (
    Appearance,
    AppearancePatch,
    appearance_in,
    change_appearance,
    reset_appearance,
)
from tavernkit.playground.base.refused import Refused
from tests.playground.accounts.installation import Installation
from tests.playground.support.databases import on_sqlite

pytestmark = pytest.mark.anyio

API = "/api/v1/me/appearance"
ALL = {
    "scheme": "sepia",
    "accent": "own",
    "own_accent": "#12ab34",
    "typeface": "sans",
    "text_size": 22,
    "width": "wide",
    "spacing": "relaxed",
    "chips": "hidden",
}


def attributes(page: httpx2.Response) -> dict[str, str]:
    """What the document says about how it looks."""
    tag = re.search(r"<html[^>]*>", page.text)
    assert tag is not None
    return dict(re.findall(r'data-([\w-]+)="([^"]*)"', tag[0]))


async def test_an_appearance_is_kept_and_only_what_is_named_is_changed(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    made = await change_appearance(installation.runtime, viewer, AppearancePatch.model_validate(ALL))
    assert made.model_dump() == {**ALL, "version": 1}
    changed = await change_appearance(installation.runtime, viewer, AppearancePatch(scheme="dark"))
    assert changed.model_dump() == {**ALL, "scheme": "dark", "version": 2}
    assert appearance_in((await installation.user(viewer.user_id)).appearance) == changed
    other = await installation.add("Hugo")
    assert appearance_in((await installation.user(other.user_id)).appearance) == Appearance()


async def test_a_stale_change_is_refused_with_what_is_there(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    await change_appearance(installation.runtime, viewer, AppearancePatch(scheme="dark", version=0))
    with pytest.raises(Refused, match="appearance was changed in the meantime") as refused:
        await change_appearance(installation.runtime, viewer, AppearancePatch(scheme="light", version=0))
    assert (refused.value.code, refused.value.current) == (
        "stale",
        {**Appearance(scheme="dark", version=1).model_dump()},
    )
    assert appearance_in((await installation.user(viewer.user_id)).appearance).scheme == "dark"


@on_sqlite
async def test_reset_goes_back_to_the_defaults_and_counts_as_a_change(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    await change_appearance(installation.runtime, viewer, AppearancePatch.model_validate(ALL))
    assert await reset_appearance(installation.runtime, viewer) == Appearance(version=2)


@on_sqlite
@pytest.mark.parametrize(
    "change",
    [
        {"scheme": "neon"},
        {"accent": "#ff0000"},
        {"own_accent": "red"},
        {"own_accent": "#FFF"},
        {"own_accent": "#12ab34;background:url(x)"},
        {"typeface": "Comic Sans"},
        {"text_size": 15},
        {"text_size": "18"},
        {"width": 10},
        {"spacing": "none"},
        {"font": "serif"},
        {"version": -1},
    ],
)
async def test_the_api_refuses_what_no_style_has_a_rule_for(
    installation: Installation, change: dict[str, object]
) -> None:
    browser = installation.browser()
    assert (await browser.patch(API, json=change)).status_code == 422
    assert (await browser.get(API)).json() == Appearance().model_dump()


@on_sqlite
async def test_the_api_changes_an_appearance_and_refuses_stale_versions_and_keys(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    browser = await installation.signed_in(viewer)
    assert (await browser.patch(API, json={**ALL, "version": 0})).json() == {**ALL, "version": 1}
    stale = await browser.patch(API, json={"width": "full", "version": 0})
    assert (stale.status_code, stale.json()["error"]["current"]) == (409, {**ALL, "version": 1})
    key = await create_api_key(installation.runtime, viewer, name="A program")
    program = installation.program(key.key)
    assert (await program.get(API)).json()["scheme"] == "sepia"
    assert (await program.patch(API, json={"scheme": "dark"})).status_code == 403


@on_sqlite
async def test_every_page_of_an_account_has_its_appearance_and_nobody_elses_has(installation: Installation) -> None:
    viewer = await installation.owner_with_password()
    await change_appearance(installation.runtime, viewer, AppearancePatch.model_validate(ALL))
    mine, hugos = await installation.signed_in(viewer), await installation.signed_in(await installation.add("Hugo"))
    expected = {
        "appearance": "1",
        "theme": "sepia",
        "accent": "own",
        "own-accent": "#12ab34",
        "typeface": "sans",
        "text-size": "22",
        "width": "wide",
        "spacing": "relaxed",
        "chips": "hidden",
    }
    story = f"/conversations/{installation.play.conversation_id}"
    for address in ("/", "/account", story, "/docs"):
        assert attributes(await mine.get(address)) == expected, address
    default = attributes(await hugos.get("/"))
    assert "theme" not in default
    assert (default["appearance"], default["accent"], default["text-size"]) == ("0", "rust", "18")
    for address in ("/sign-in", "/docs"):
        assert attributes(await installation.browser().get(address)) == {}


@on_sqlite
async def test_the_form_saves_and_names_what_was_changed_elsewhere(installation: Installation) -> None:
    browser = installation.browser()
    page = await browser.get("/appearance")
    assert '<input type="radio" name="scheme" value="system" checked>' in page.text
    form = {name: str(value) for name, value in ALL.items()}
    saved = await browser.post("/appearance", data={**form, "own_accent": "#12AB34", "version": "0"})
    assert (saved.status_code, saved.headers["location"]) == (303, "/appearance")
    assert (await browser.get(API)).json() == {**ALL, "version": 1}

    stale = await browser.post("/appearance", data={**form, "scheme": "dark", "width": "full", "version": "0"})
    assert stale.status_code == 409
    assert "was changed in the meantime" in stale.text
    assert "<dt>Colour scheme</dt><dd>Sepia</dd><dt>Width of the text</dt>" in stale.text
    # What was chosen is still chosen, and saving again overwrites.
    assert '<input type="radio" name="scheme" value="dark" checked>' in stale.text
    assert 'name="version" value="1"' in stale.text

    wrong = await browser.post("/appearance", data={**form, "scheme": "neon", "version": "1"})
    assert wrong.status_code == 422
    assert "scheme must be one of" in wrong.text
    reset = await browser.post("/appearance/reset")
    assert (reset.status_code, (await browser.get(API)).json()) == (303, {**Appearance(version=2).model_dump()})
