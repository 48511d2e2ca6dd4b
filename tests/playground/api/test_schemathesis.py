"""Requests that nobody thought of: no route breaks, and every answer is what the schema says.

Most of what is asked names things that exist, so that requests come as far as the services. Requests that the schema
forbids must be refused, in the form that the schema gives for refusals.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.playground.accounts.installation import ORIGIN
from tests.playground.api.routes import Route, api_alone, api_routes
from tests.playground.api.world import Person, Things, World, open_world
from tests.playground.support.postgres import PostgresServer

FITTING, UNFIT = 1, 1
"""How many requests each route gets that the schema allows, and that it forbids."""

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
VERSIONS = ("settings_version", "revision", "version")
OTHERS = ("character_id", "persona_id", "preset_id", "lorebook_id", "entry_id")
SITE = ("/users", "/invitations", "/providers", "/admin")


SCHEMA = schemathesis.openapi.from_dict(api_alone().openapi())
ROUTES = api_routes(api_alone())


class Worlds:
    """The same world on each kind of database, in a thread of their own, for tests that do not wait."""

    def __init__(self, portal: BlockingPortal, worlds: dict[str, World]) -> None:
        self.portal = portal
        self.worlds = worlds
        self.others = {kind: self._made(Things(world), OTHERS) for kind, world in worlds.items()}

    def things(self, route: Route) -> dict[str, dict[str, str]]:
        """Things for one route, by the kind of database: those in its path, which it may change or delete, and others
        that it may name."""
        changes = not route.name.startswith("GET ")
        own_space = changes and route.path.endswith(("/spaces/{space_id}", "/members/{member_id}"))
        return {
            kind: {**self.others[kind], **self._made(Things(world, own_space=own_space), in_path_of(route))}
            for kind, world in self.worlds.items()
        }

    def _made(self, things: Things, names: Sequence[str]) -> dict[str, str]:
        async def make() -> dict[str, str]:
            return {name: await things.get(name) for name in names}

        return self.portal.call(make)

    def clients(self, route: Route) -> dict[str, httpx2.AsyncClient]:
        is_for_administrators = route.path.removeprefix("/api/v1").startswith(SITE)
        person: Person = "administrator" if is_for_administrators else "owner"
        return {kind: self.portal.call(world.new_client, person) for kind, world in self.worlds.items()}

    def send(self, client: httpx2.AsyncClient, case: Case[Any], ids: Mapping[str, str]) -> httpx2.Response:
        """What is answered to a case in which some ids are replaced by others."""
        sent: Any = requests.Request(**case.as_transport_kwargs(base_url=ORIGIN)).prepare()
        headers = {name: value for name, value in sent.headers.items() if name.lower() == "content-type"}
        url, body = sent.url, sent.body.encode() if isinstance(sent.body, str) else sent.body
        for id, other in ids.items():
            url, body = url.replace(id, other), body and body.replace(id.encode(), other.encode())

        async def ask() -> httpx2.Response:
            return await client.request(sent.method, url, content=body, headers=headers)

        return self.portal.call(ask)


@pytest.fixture(scope="module")
def worlds(
    sqlite_with_story: Path,
    postgres_server: PostgresServer,
    postgres_with_story: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Worlds]:
    folder = tmp_path_factory.mktemp("worlds")
    shutil.copy(sqlite_with_story, folder / "t.db")
    copied = postgres_server.create_database(template=postgres_with_story)
    urls = {"sqlite": f"sqlite+aiosqlite:///{folder}/t.db", "postgresql": postgres_server.url(copied)}
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        worlds = {
            kind: opened.enter_context(portal.wrap_async_context_manager(open_world(url, folder / kind)))
            for kind, url in urls.items()
        }
        yield Worlds(portal, worlds)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_no_request_breaks_a_route(worlds: Worlds, route: Route) -> None:
    operation = SCHEMA[route.path][route.method]
    things, clients = worlds.things(route), worlds.clients(route)
    named = things["sqlite"]
    in_path = {name: named[name] for name in in_path_of(route)}

    def check(case: Case[Any]) -> None:
        for kind, client in clients.items():
            ids = {named[name]: thing for name, thing in things[kind].items() if named[name] != thing}
            note(f"on {kind}")
            case.validate_response(worlds.send(client, case, ids), checks=CHECKS)

    @quickly(FITTING)
    @given(case=operation.as_strategy(path_parameters=in_path), draw=st.data())
    def allowed(case: Case[Any], draw: st.DataObject) -> None:
        for part in (case.body, case.query):
            if isinstance(part, dict):
                name_things(part, named, draw)
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
