"""The routes of the application, as its OpenAPI schema tells them.

`python -m tests.playground.api.routes` prints the tables for `docs/api.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from fastapi import FastAPI

from tavernkit.playground.edge.routes import ROUTES, api_router
from tavernkit.playground.edge.web.requests import API_PREFIX

__all__ = ["Route", "all_routes", "api_alone", "api_routes", "routes_of", "table_of"]


class Route(NamedTuple):
    """One route: `name` is its method and its path without the prefix of the API; of a page, it says so."""

    name: str
    path: str
    about: str
    operation: dict[str, Any]

    @property
    def method(self) -> str:
        return self.name.split(" ")[0]


@cache
def api_alone() -> FastAPI:
    """The routes of the API with nothing behind them, for who only wants to know what there is."""
    app = FastAPI()
    app.include_router(api_router())
    return app


@cache
def all_routes() -> list[Route]:
    """The routes of the API and of the pages."""
    app = FastAPI()
    app.routes.extend(ROUTES)
    return routes_of(app)


def routes_of(app: FastAPI) -> list[Route]:
    """Every route of the schema, in its order."""
    return [
        Route(_name(method.upper(), path), path, _about(operation), operation)
        for path, operations in app.openapi()["paths"].items()
        for method, operation in operations.items()
    ]


def api_routes(app: FastAPI) -> list[Route]:
    """The routes under the prefix of the API."""
    return [route for route in routes_of(app) if route.path.startswith(f"{API_PREFIX}/")]


def table_of(app: FastAPI) -> str:
    """The routes of the API as the tables that the documentation shows, one for each noun."""
    nouns: dict[str, list[str]] = {}
    for route in api_routes(app):
        nouns.setdefault(route.operation["tags"][0], []).append(f"| `{route.name}` | {route.about} |")
    return "\n\n".join(
        "\n".join([f"### {noun.capitalize()}", "", "| route | what it does |", "|---|---|", *rows])
        for noun, rows in nouns.items()
    )


def _name(method: str, path: str) -> str:
    return (
        f"{method} {path.removeprefix(API_PREFIX)}" if path.startswith(f"{API_PREFIX}/") else f"{method} {path} (page)"
    )


def _about(operation: dict[str, Any]) -> str:
    """The first words about a route: what it says of itself, else its title."""
    words = operation.get("description") or operation.get("summary") or ""
    return " ".join(words.split()).replace("|", "\\|").removesuffix(".")


if __name__ == "__main__":
    print(table_of(api_alone()))
