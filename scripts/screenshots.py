"""Pictures of every page: in each language, light and dark, on a desktop and on a phone: `make screenshots`.

They go into a folder of the machine's temporary files, or into the one that is named. The pictures of the README are
taken again in `docs/screenshots/`. A real server with the scripted model and an empty data folder shows a story that is
told here. The pages are found as a reader finds them: through links.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from tests.playground.support.server import ScriptedModel, ServerProcess, running

README = Path(__file__).parents[1] / "docs" / "screenshots"
SIZES = {"desktop": (1280, 900, 1), "phone": (360, 740, 2)}
LOCALES = {"en": "en-GB", "ru": "ru-RU", "zh-Hans": "zh-CN"}
"""What the browser asks for, by the language that it gets."""
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# Small enough to be kept with the code.
MOST_BYTES = 150_000
QUALITIES = (82, 70, 55, 40)
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TITLE = "The letter that came back"
STORY = (
    (
        False,
        "Rain has been at the windows since noon, and the lamp over the counter hums to keep it company.\n\n"
        '"You are late," she says, and does not look up. "Which is to say, you are **exactly** when the ledger said '
        'you would be." She turns the great book round so that you can read it.\n\n'
        "> Stop 9. One letter, grey, no stamp. *To be asked for by its writer.*",
    ),
    (True, '"I never sent it." I put my hand flat on the page, as if it might close. "I only *wrote* it."'),
    (
        False,
        '"Mm." She slides a drawer open with her knee. Inside, in a bed of string and sealing wax, lies a grey '
        "envelope with your handwriting on it. The ink has not quite dried.\n\n"
        '"Writing is the greater part of sending," she says. "The tram does the rest. Now: do you want it **back**, '
        'or do you want it *answered*?"',
    ),
    (True, '"Is there an answer?"'),
    (
        False,
        "She takes off her spectacles. For the first time she looks at you, and not at what you carry.\n\n"
        '"There is always an answer. What there is not, always, is somebody who will sit down first." She pulls out '
        "the other chair. Something in the corner, which you had taken for a parcel, yawns and shows all its teeth.",
    ),
)


def tell_story(server: ServerProcess) -> str:
    """Have the story among the conversations, and give its id."""
    with httpx2.Client(
        base_url=f"{server.url}/api/v1", headers={"Origin": server.url}, timeout=30, trust_env=False
    ) as client:
        character = _json(client.get("/characters"))["items"][0]
        space = {"name": TITLE, "character_ids": [character["id"]], "name_override": "Robin", "greeting": False}
        begun = _json(client.post("/spaces", json=space))
        space_id = begun["space"]["id"]
        header = {"user_name": "Robin", "character_name": character["name"], "chat_metadata": {}}
        lines = [
            {
                "name": "Robin" if own else character["name"],
                "is_user": own,
                "mes": text,
                "send_date": f"2026-10-14T19:{number:02}:00Z",
            }
            for number, (own, text) in enumerate(STORY, start=40)
        ]
        chat = "\n".join(json.dumps(line) for line in (header, *lines)).encode()
        file = (f"{TITLE}.jsonl", chat, "application/x-ndjson")
        imported = _json(client.post(f"/spaces/{space_id}/conversations/import", files={"file": file}))
        # A space begins with a conversation, which nothing is said in here.
        client.delete(f"/conversations/{begun['conversation']['id']}").raise_for_status()
        conversation_id: str = imported["conversations"][0]["id"]
        return conversation_id


def speak_in_group(page: Page) -> tuple[str, str]:
    """Say something to the two who came along, and give the addresses of their conversation and of a reply's record."""
    page.goto("/pipelines")
    page.get_by_role("button", name="RPG state: Enable").click()
    page.goto("/")
    page.get_by_role("link", name="The end of line nine").first.click()
    page.locator("#composer_text").fill("I follow the smell of soup to the kiosk, and knock.")
    page.keyboard.press("Enter")
    group = urlsplit(page.url).path
    page.locator("article").nth(3).wait_for()
    # Behind the replies, the state of the story is brought up to date.
    page.locator("#run:empty").wait_for(state="attached")
    page.goto(f"{group}/panel/runs")
    run = page.locator("a[href^='/runs/']").first.get_attribute("href")
    if run is None:
        raise SystemExit("The reply has no record.")
    return group, run


def share(page: Page, chat: str) -> str:
    """Make a link to a conversation, and give the address at which others read it."""
    page.goto(f"{chat}/links")
    page.get_by_label("Include branches").check()
    page.get_by_role("button", name="Create link").click()
    return urlsplit(page.locator("#new_link").get_attribute("href") or "").path


def first_character(page: Page) -> str:
    found: str = page.request.get("/api/v1/characters?limit=1").json()["items"][0]["id"]
    return found


def pages_of(page: Page, conversation_id: str) -> dict[str, str]:
    """The name and address of each page that a reader can find."""
    group, run = speak_in_group(page)
    chat = f"/conversations/{conversation_id}"
    found = {"home": "/", "sign-in": "/sign-in", "sign-up": "/sign-up", "chat": chat, "group": group, "run": run}
    found |= {
        "state": f"{group}?panel=state",
        "conversations-one-panel-members": f"{group}/panel/members",
        # Without their places, these are no pages.
        "lorebook_links": f"/lorebook_links?conversation_id={conversation_id}",
        "shares": f"/shares?character_id={first_character(page)}",
        "shared": share(page, chat),
        "docs": "/docs/guide",
        "missing": "/nothing",
    }
    # Each page may lead to further ones; of pages that differ only in an id, the first is taken.
    waiting = list(found.values())
    while waiting:
        page.goto(waiting.pop(0))
        for path in _links(page):
            if _name(path) not in found and path not in found.values():
                found[_name(path)] = path
                waiting.append(path)
    return found


def take(browser: Browser, server: ServerProcess, pages: dict[str, str]) -> Iterator[tuple[str, str, bytes]]:
    """The language and the name of each picture, and the picture."""
    for language, (device, (width, height, scale)), theme in product(LOCALES, SIZES.items(), THEMES):
        context = browser.new_context(
            base_url=server.url,
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            color_scheme=theme,
            reduced_motion="reduce",
            locale=LOCALES[language],
            timezone_id="Europe/London",
            service_workers="block",
        )
        page = context.new_page()
        for name, path in pages.items():
            page.goto(path)
            page.locator("turbo-frame[busy]").first.wait_for(state="detached")
            page.evaluate("document.fonts.ready")
            yield language, f"{name}-{device}-{theme}", page.screenshot()
        context.close()


def shrink(picture: bytes) -> bytes:
    """The picture as WebP, as good as the size allows."""
    smaller = b""
    with Image.open(io.BytesIO(picture)) as image:
        for quality in QUALITIES:
            buffer = io.BytesIO()
            image.convert("RGB").save(buffer, "WEBP", quality=quality, method=6)
            smaller = buffer.getvalue()
            if len(smaller) <= MOST_BYTES:
                break
    return smaller


def main() -> None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        raise SystemExit("Pictures need Chromium, and it is not here. Run: sh scripts/ensure-chromium")
    parser = argparse.ArgumentParser(description="Take a picture of every page.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(tempfile.gettempdir()) / "tavernkit-screenshots")
    target: Path = parser.parse_args().folder
    with (
        tempfile.TemporaryDirectory() as folder,
        running(ScriptedModel(Path(folder), delay=0.02)) as model,
        running(ServerProcess(Path(folder), model_url=model.base_url)) as server,
        sync_playwright() as playwright,
    ):
        conversation_id = tell_story(server)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(base_url=server.url, locale=LOCALES["en"])
        pages = pages_of(page, conversation_id)
        count = 0
        for language, name, picture in take(browser, server, pages):
            file = target / language / f"{name}.webp"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(shrink(picture))
            if language == "en" and (README / file.name).exists():
                shutil.copyfile(file, README / file.name)
            count += 1
        browser.close()
    print(f"{len(pages)} pages, {count} pictures in {target}")


def _links(page: Page) -> list[str]:
    """The addresses on this server that links lead to, without files and without what is in a page."""
    found: list[str] = page.locator("a[href^='/']:not([download])").evaluate_all(
        "links => links.map((link) => link.pathname)"
    )
    # The documentation has one layout and is not translated: one page of it is enough.
    others = ("/api/", "/static/", "/docs/")
    return [path for path in found if not path.startswith(others) and "/export" not in path]


def _name(path: str) -> str:
    """What a page is called: its address, where an id is called `one`."""
    if re.fullmatch(rf"/conversations/{ID.pattern}", path):
        return "chat"
    return ID.sub("one", path).strip("/").replace("/", "-") or "home"


def _json(answer: httpx2.Response) -> Any:
    answer.raise_for_status()
    return answer.json()


if __name__ == "__main__":
    main()
