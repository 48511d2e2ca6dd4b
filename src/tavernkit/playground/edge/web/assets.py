"""The built scripts, styles and fonts: their hashed names, and how they are served."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from tavernkit.errors import TavernKitError

STATIC_FOLDER = Path(__file__).parent / "static"
STATIC_URL = "/static"

# The name says the content, so that a browser never has to ask again.
_FOREVER = "public, max-age=31536000, immutable"


class AssetError(TavernKitError):
    """A script or style that the build did not make."""


def asset(name: str) -> str:
    """The address of a built file by its plain name, such as `app.js`."""
    try:
        return f"{STATIC_URL}/{_manifest()[name]}"
    except KeyError:
        raise AssetError(f"The build made no file {name!r}; it made {', '.join(sorted(_manifest()))}.") from None


def built_files() -> tuple[str, ...]:
    """The plain names of all built files."""
    return tuple(sorted(_manifest()))


class HashedFiles(StaticFiles):
    """Serves the built files, to be kept for good; to be mounted at `STATIC_URL`."""

    def __init__(self) -> None:
        # A folder that is missing is reported by `asset`, in a sentence, when a page is first drawn.
        super().__init__(directory=STATIC_FOLDER, check_dir=False)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code in (200, 304) and path in _hashed_names():
            response.headers["Cache-Control"] = _FOREVER
        return response


@cache
def _manifest() -> dict[str, str]:
    try:
        text = (STATIC_FOLDER / "manifest.json").read_bytes()
    except FileNotFoundError:
        raise AssetError(
            "The pages' scripts and styles are not built. Run `make install`, or install a wheel."
        ) from None
    return msgspec.json.decode(text, type=dict[str, str])


@cache
def _hashed_names() -> frozenset[str]:
    return frozenset(_manifest().values())
