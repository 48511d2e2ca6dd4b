"""The pages of models, as a browser without scripts uses them."""

import re
from typing import Any

import httpx2
import pytest

from tavernkit import dialects
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.edge.web.streams import CONTENT_TYPE
from tavernkit.playground.story.providers.queries import USUAL, usual_server
from tests.playground.accounts.installation import Installation
from tests.playground.providers.provider_admin import ProviderAdmin
from tests.playground.support.databases import on_sqlite

pytestmark = [pytest.mark.anyio, on_sqlite]

KEY = "sk-very-secret"


async def ask(admin: ProviderAdmin, method: str, path: str, status: int = 200, **options: Any) -> httpx2.Response:
    answer = await admin.api.request(method, f"http://127.0.0.1{path}", **options)
    assert answer.status_code == status, answer.text
    assert KEY not in answer.text
    return answer


def form(**fields: str) -> dict[str, str]:
    return {"name": "Desk", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "streamable": "true", **fields}


async def add(admin: ProviderAdmin, **fields: str) -> str:
    """The address of the page of a provider that was just added."""
    added = await ask(admin, "POST", "/models", 303, data=form(**fields))
    return added.headers["location"].partition("?")[0]


async def test_the_usual_servers_fill_the_form(admin: ProviderAdmin) -> None:
    page = await ask(admin, "GET", "/models")
    assert all(f'href="/models/new?server={server.slug}"' in page.text for server in USUAL)
    gemini = usual_server("gemini")
    assert gemini is not None
    page = await ask(admin, "GET", "/models/new?server=gemini")
    assert f'value="{gemini.address}"' in page.text
    assert '<option value="google" selected>' in page.text


async def test_a_model_is_added_tested_and_made_the_default(admin: ProviderAdmin, provider: str) -> None:
    there = await add(admin, base_url=f"{provider}/v1", api_key=KEY)
    page = await ask(admin, "GET", there)
    assert "Stored; leave empty to keep it" in page.text
    listed = await ask(admin, "POST", f"{there}/list", data=form(base_url=f"{provider}/v1"))
    assert "Choose one in the Model field" in listed.text
    [name, *_] = re.findall(r'<option value="([^"]+)"></option>', listed.text)
    # Asking for the list has changed nothing: what was typed meanwhile is no conflict.
    changed = form(base_url=f"{provider}/v1", model=name, settings_version="0")
    tested = await ask(admin, "POST", f"{there}/test", data=changed)
    assert "Desk works." in tested.text
    await ask(admin, "POST", f"{there}/default", 303)
    assert (await admin.rows())["Desk"].is_default
    row = (await admin.rows())["Desk"]
    assert (row.model, row.api_key is not None) == (name, True)


async def test_a_test_that_fails_says_why_beside_the_form(admin: ProviderAdmin) -> None:
    there = await add(admin, model="none")
    tested = await ask(admin, "POST", f"{there}/test", data=form(model="none"), headers={"Accept": CONTENT_TYPE})
    assert tested.headers["content-type"].startswith(CONTENT_TYPE)
    assert 'target="model_form"' in tested.text
    assert 'role="alert"' in tested.text


async def test_what_was_typed_stays_when_something_is_wrong(admin: ProviderAdmin) -> None:
    wrong = await ask(admin, "POST", "/models", 422, data=form(name="My <b>", base_url="ftp://here", api_key=KEY))
    assert "does not begin with http" in wrong.text
    assert 'value="My &lt;b&gt;"' in wrong.text
    assert 'value="ftp://here"' in wrong.text
    wrong = await ask(admin, "POST", "/models", 422, data=form(context_tokens="12"))
    assert "Context size must be at least 256." in wrong.text
    there = await add(admin)
    stale = await ask(admin, "POST", there, 409, data=form(model="mine", settings_version="7"))
    assert 'value="mine"' in stale.text
    # The page knows the version now: who insists can save.
    assert 'name="settings_version" value="0"' in stale.text
    await ask(admin, "POST", there, 303, data=form(model="mine", settings_version="0"))
    assert (await admin.rows())["Desk"].model == "mine"


async def test_a_key_is_kept_unless_it_is_replaced_or_forgotten(admin: ProviderAdmin) -> None:
    there = await add(admin, api_key=KEY)
    await ask(admin, "POST", there, 303, data=form(settings_version="0", model="m"))
    assert (await admin.rows())["Desk"].api_key is not None
    moved = form(settings_version="1", base_url="http://127.0.0.2:9/v1")
    assert "another server" in (await ask(admin, "POST", there, 422, data=moved)).text
    await ask(admin, "POST", there, 303, data={**moved, "forget_key": "true"})
    assert (await admin.rows())["Desk"].api_key is None


async def test_a_dialect_of_an_extension_is_chosen_and_taken_back(admin: ProviderAdmin) -> None:
    dialects.register("tests.silent", lambda *_: [], replace=True)
    there = await add(admin, model="any")
    row = (await admin.rows())["Desk"]
    fields = {"settings": {"min_p": 0.1}, "settings_version": row.settings_version}
    await ask(admin, "PATCH", f"/api/v1/providers/{row.id}", json=fields)
    page = await ask(admin, "GET", there)
    assert '<option value="openai">openai (default)</option>' in page.text
    assert '<option value="tests.silent">tests.silent</option>' in page.text
    assert '<option value="mistral">' not in page.text
    for version, dialect in enumerate(("tests.silent", "openai"), 1):
        typed = form(model="any", dialect=dialect, settings_version=str(version))
        await ask(admin, "POST", there, 303, data=typed)
        chosen = {} if dialect == "openai" else {"dialect": dialect}
        assert (await admin.rows())["Desk"].settings == {"min_p": 0.1, **chosen}
    unknown = form(model="any", dialect="klingon", settings_version="3")
    assert "The dialect “klingon” does not exist" in (await ask(admin, "POST", there, 422, data=unknown)).text


async def test_one_is_switched_off_and_deleted_and_the_default_is_not(admin: ProviderAdmin) -> None:
    there = await add(admin)
    await ask(admin, "POST", f"{there}/switch", 303, data={"disabled": "true"})
    assert "Disabled" in (await ask(admin, "GET", "/models")).text
    await ask(admin, "POST", f"{there}/switch", 303, data={"disabled": "false"})
    await ask(admin, "POST", f"{there}/default", 303)
    refused = await ask(admin, "POST", f"{there}/delete", 409)
    assert "Make another model the default first" in refused.text
    other = await add(admin, name="Other")
    await ask(admin, "POST", f"{other}/delete", 303)
    assert "Other" not in await admin.rows()


async def test_the_small_model_can_be_renamed_and_not_much_more(admin: ProviderAdmin) -> None:
    [row] = (await admin.rows()).values()
    page = await ask(admin, "GET", f"/models/{row.id}")
    assert 'name="base_url"' not in page.text
    changed = {"name": "Small", "context_tokens": "1024", "response_tokens": "128", "settings_version": "0"}
    await ask(admin, "POST", f"/models/{row.id}", 303, data=changed)
    assert (await admin.rows())["Small"].context_tokens == 1024


async def test_others_see_who_can_answer_and_nothing_to_change(installation: Installation) -> None:
    await installation.owner_with_password()
    member: Viewer = await installation.add("Hugo")
    browser = await installation.signed_in(member)
    page = await browser.get("/models")
    assert "SmolLM2" in page.text
    assert "Only administrators can add and change models" in page.text
    assert "<form" not in page.text.partition("<main")[2].partition("</main>")[0]
    assert (await browser.get("/models/new")).status_code == 403
    assert (await browser.post("/models", data=form())).status_code == 403


async def test_whether_a_model_sees_pictures_is_guessed_shown_and_changed(admin: ProviderAdmin) -> None:
    there = await add(admin, model="gpt-4o")
    assert "By model name: sends pictures" in (await ask(admin, "GET", there)).text
    changed = form(model="mistral-7b", sees_pictures="yes", settings_version="0")
    await ask(admin, "POST", there, 303, data=changed)
    page = (await ask(admin, "GET", there)).text
    assert "By model name: does not send pictures" in page
    assert '<option value="yes" selected>' in page
    assert [row.sees_pictures for row in (await admin.rows()).values() if row.name == "Desk"] == ["yes"]
    wrong = form(model="mistral-7b", sees_pictures="perhaps", settings_version="1")
    assert "Pictures must be one of" in (await ask(admin, "POST", there, 422, data=wrong)).text
