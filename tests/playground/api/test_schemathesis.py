"""Requests that nobody thought of: no route breaks, and every answer is what the schema says.

Most of what is asked names things that exist, so that requests come as far as the services. Requests that the schema
forbids must be refused, in the form that the schema gives for refusals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.playground.accounts.house import ORIGIN
from tests.playground.api.routes import Route, api_alone, api_routes
from tests.playground.api.world import Things, World, open_world
from tests.playground.support.postgres import PostgresServer

FITTING, UNFIT = 6, 3
"""How many requests each route gets that the schema allows, and that it forbids."""

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
VERSIONS = ("settings_version", "revision", "version")
OTHERS = ("character_id", "persona_id", "preset_id", "lorebook_id", "entry_id")
SITE = ("/users", "/invitations", "/providers")


SCHEMA = schemathesis.openapi.from_dict(api_alone().openapi())
ROUTES = api_routes(api_alone())


class Asker:
    """A world in a thread of its own, for tests that do not wait."""

    def __init__(self, portal: BlockingPortal, world: World) -> None:
        self.portal = portal
        self.world = world
        self.others = self._made(Things(world), OTHERS)

    def things(self, route: Route) -> dict[str, str]:
        """Things for one route: those in its path, which it may change or delete, and others that it may name."""
        things = Things(self.world, own_space=route.name in ("PATCH /spaces/{space_id}", "DELETE /spaces/{space_id}"))
        return {**self.others, **self._made(things, in_path_of(route))}

    def _made(self, things: Things, names: Sequence[str]) -> dict[str, str]:
        return {name: self.portal.call(things.get, name) for name in names}

    def client(self, route: Route) -> httpx2.AsyncClient:
        is_for_administrators = route.path.removeprefix("/api/v1").startswith(SITE)
        return self.portal.call(self.world.new_client, "administrator" if is_for_administrators else "owner")

    def send(self, client: httpx2.AsyncClient, case: Case[Any]) -> httpx2.Response:
        sent: Any = requests.Request(**case.as_transport_kwargs(base_url=ORIGIN)).prepare()
        headers = {name: value for name, value in sent.headers.items() if name.lower() == "content-type"}

        async def ask() -> httpx2.Response:
            return await client.request(sent.method, sent.url, content=sent.body, headers=headers)

        return self.portal.call(ask)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def asker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("world")
    url = f"sqlite+aiosqlite:///{folder}/t.db"
    if request.param == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        url = postgres.url(postgres.create_database())
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        world = opened.enter_context(portal.wrap_async_context_manager(open_world(url, folder)))
        yield Asker(portal, world)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_no_request_breaks_a_route(asker: Asker, route: Route) -> None:
    operation = SCHEMA[route.path][route.method]
    things, client = asker.things(route), asker.client(route)
    in_path = {name: things[name] for name in in_path_of(route)}

    def check(case: Case[Any]) -> None:
        case.validate_response(asker.send(client, case), checks=CHECKS)

    @quickly(FITTING)
    @given(case=operation.as_strategy(path_parameters=in_path), draw=st.data())
    def allowed(case: Case[Any], draw: st.DataObject) -> None:
        for part in (case.body, case.query):
            if isinstance(part, dict):
                name_things(part, things, draw)
        check(case)

    @quickly(UNFIT)
    @given(case=operation.as_strategy(GenerationMode.NEGATIVE))
    def forbidden(case: Case[Any]) -> None:
        check(case)

    allowed()
    if operation.path_parameters or operation.query or operation.body:
        forbidden()


def in_path_of(route: Route) -> list[str]:
    return re.findall(r"\{(\w+)\}", route.path)


def name_things(part: dict[str, Any], things: dict[str, str], draw: st.DataObject) -> None:
    """Put ids and versions that exist where others would be refused at once."""
    for name in part:
        if name in things and draw.draw(st.booleans()):
            part[name] = things[name]
        elif name in VERSIONS:
            part[name] = draw.draw(st.integers(0, 2))


def quickly(examples: int) -> Any:
    """The same few requests each time: this is a test of the routes, and not a search that ends by chance."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
