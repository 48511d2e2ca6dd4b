"""What the API says about itself is true, and the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tavernkit.artifacts.pipelines import EXAMPLES, example_source
from tavernkit.playground.base.llm.scripted import ScriptedModel
from tavernkit.playground.base.refused import STATUS_OF
from tests.playground.api.routes import Route, api_alone, api_routes, table_of
from tests.playground.stories import open_story
from tests.playground.support.web import api_client

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
ROUTES = api_routes(api_alone())
SCHEMAS: dict[str, Any] = api_alone().openapi()["components"]["schemas"]
LISTS_OF_ALL = [
    "GET /admin/backups",
    "GET /admin/prices",
    "GET /admin/usage",
    "GET /budgets",
    "GET /conversations/{conversation_id}/artifacts",
    "GET /conversations/{conversation_id}/injections",
    "GET /conversations/{conversation_id}/shared_links",
    "GET /conversations/{conversation_id}/toggles",
    "GET /conversations/{conversation_id}/variables",
    "GET /lorebook_links",
    "GET /macros",
    "GET /presets/{preset_id}/prompts",
    "GET /prices",
    "GET /usage",
]
"""What is short by its nature, and comes whole."""

each_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)


def test_the_page_about_the_api_shows_every_route() -> None:
    assert table_of(api_alone()) in PAGE.read_text(), "run python -m tests.playground.api.routes, and paste the tables"


def test_the_page_about_the_api_tells_every_code_with_its_status() -> None:
    told = dict(re.findall(r"^\| (\d+) \|.*\| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    assert [code for code, status in STATUS_OF.items() if f"`{code}`" not in told[str(status)]] == []


def test_the_content_of_a_profile_is_described_down_to_its_artifacts() -> None:
    assert SCHEMAS["NewProfile"]["properties"]["content"]["$ref"] == "#/components/schemas/ProfileContent"
    profile = SCHEMAS["ProfileContent"]["properties"]
    assert list(profile) == ["pipelines"], "its id, version, name and description are those of the row"
    steps = profile["pipelines"]["items"]["properties"]["steps"]["items"]["anyOf"]
    kinds = {step["properties"]["kind"]["enum"][0]: step for step in steps}
    assert list(kinds) == ["template", "llm", "transform", "message_transform", "guard", "python"]
    assert "prompt" in kinds["llm"]["required"]
    artifact = kinds["llm"]["properties"]["artifacts"]["items"]["properties"]
    assert set(artifact) >= {"tag", "visibility", "uiSurface", "promptInclusion", "retention"}
    assert "ephemeral" in str(artifact["retention"])


def test_the_examples_are_what_the_schema_of_a_profile_describes() -> None:
    validator = jsonschema_rs.validator_for(SCHEMAS["ProfileContent"])
    for id in EXAMPLES:
        validator.validate(example_source(id))
    wrong = {"pipelines": [{"id": "p", "steps": [{"id": "s", "hook": "before", "kind": "dance"}]}]}
    assert not validator.is_valid(wrong)


@each_route
def test_every_route_says_what_it_does(route: Route) -> None:
    assert len(route.about.split()) > 1
    assert route.operation["operationId"]
    assert len(route.operation["tags"]) == 1


@each_route
def test_every_route_says_how_it_refuses(route: Route) -> None:
    for status in ("401", "403", "404", "422"):
        content = route.operation["responses"][status]["content"]
        assert content == {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorResponse"}}}


@each_route
def test_no_body_may_hold_what_nobody_reads(route: Route) -> None:
    for kind, body in route.operation.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json":
            assert resolved(body["schema"])["additionalProperties"] is False


@each_route
def test_changes_of_what_others_may_change_carry_a_version(route: Route) -> None:
    """But for oneself, an account, and a link that only says whether a book is in use."""
    if route.method == "PATCH" and route.name not in (
        "PATCH /me",
        "PATCH /me/shortcuts",
        "PATCH /users/{user_id}",
        "PATCH /lorebook_links/{link_id}",
    ):
        fields = resolved(route.operation["requestBody"]["content"]["application/json"]["schema"])["properties"]
        assert {"settings_version", "revision", "version", "mark"} & set(fields)


@each_route
def test_lists_come_in_pages(route: Route) -> None:
    answer = (
        route.operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
    )
    fields = resolved(answer).get("properties", {})
    if route.method != "GET" or "items" not in fields or route.name in LISTS_OF_ALL:
        return
    assert "next" in fields
    assert {"limit", "after"} <= {given["name"] for given in route.operation["parameters"]}


@pytest.mark.anyio
async def test_what_is_not_there_is_told_in_the_same_form(sqlite_url: str, tmp_path: Path) -> None:
    async with (
        open_story(sqlite_url, tmp_path, ScriptedModel()) as play,
        api_client(play.runtime, play.user_id) as client,
    ):
        nowhere = await client.get("/nowhere")
        not_so = await client.put("/spaces", json={})
        unreadable = await client.post("/spaces", content=b"\xff\xfe", headers={"Content-Type": "application/json"})
        unfit = await client.post("/spaces", json={"colour": "red"})
    assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "not_found")
    assert (not_so.status_code, not_so.json()["error"]["code"]) == (405, "refused")
    assert (unreadable.status_code, unreadable.json()["error"]["code"]) == (422, "invalid")
    assert (unfit.status_code, "body.colour" in unfit.json()["error"]["sentence"]) == (422, True)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found
