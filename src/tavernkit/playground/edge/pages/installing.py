"""What lets browsers install the application, and what they show while the server cannot be reached.

Nothing here is about anybody: the answers differ by language alone, and everybody may ask for them.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Annotated

from fastapi import APIRouter, Query, Response

from tavernkit.playground.base.languages import current_language, translated, use_language
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.edge.web.assets import STATIC_FOLDER, asset, built_files
from tavernkit.playground.edge.web.forms import page
from tavernkit.playground.edge.web.rendering import render

router = APIRouter()

Language = Annotated[str, Query(max_length=16)]
"""That of the page which asks: a browser asks for these without saying who sits there."""

GROUND = "#faf8f4"
"""The background of the pages in the light theme, shown while the installed application starts."""
OFFLINE = "/offline"
WORKER = "service_worker.js"
ASKED_AGAIN = {"Cache-Control": "no-cache"}


@router.get("/manifest.webmanifest")
async def web_manifest(language: Language = "") -> Response:
    """How the installed application is called and looks."""
    use_language(language)
    document = {
        "id": "/",
        "name": "TavernKit",
        "short_name": "TavernKit",
        "description": translated(_("Stories with language models, on your own machine.")),
        "lang": current_language(),
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": GROUND,
        "theme_color": GROUND,
        "icons": [
            {"src": asset("icon.svg"), "type": "image/svg+xml", "sizes": "any"},
            {"src": asset("icon-192.png"), "type": "image/png", "sizes": "192x192"},
            {"src": asset("icon-512.png"), "type": "image/png", "sizes": "512x512"},
            {"src": asset("icon-maskable.png"), "type": "image/png", "sizes": "512x512", "purpose": "maskable"},
        ],
    }
    return Response(
        json.dumps(document, ensure_ascii=False), media_type="application/manifest+json", headers=ASKED_AGAIN
    )


@router.get("/service-worker.js")
async def service_worker(language: Language = "") -> Response:
    """The worker, behind the list of what it keeps: a browser installs it anew when one of those has changed."""
    use_language(language)
    return Response(_worker(current_language()), media_type="text/javascript", headers=ASKED_AGAIN)


@router.get(OFFLINE)
async def offline_page(language: Language = "") -> Response:
    """The page that the worker shows in place of any other."""
    use_language(language)
    response = page("offline.html")
    response.headers.update(ASKED_AGAIN)
    return response


@cache
def _worker(language: str) -> str:
    """For the language that is in use."""
    script = (STATIC_FOLDER / asset(WORKER).rpartition("/")[2]).read_text(encoding="utf-8")
    kept = [asset(name) for name in built_files() if name != WORKER and _is_kept(name)]
    version = hashlib.sha256(json.dumps([script, kept, render("offline.html")]).encode()).hexdigest()[:16]
    document = {"version": version, "offline": f"{OFFLINE}?language={language}", "assets": kept}
    return f"self.KEPT = {json.dumps(document)}\n{script}"


def _is_kept(name: str) -> bool:
    """Of the fonts, only those of every page: the others are large, and the browser's own cache has those in use."""
    return not name.endswith(".woff2") or name.endswith("-latin-wght-normal.woff2")
