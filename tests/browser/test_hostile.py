"""Pages full of what strangers may send: nothing runs, nothing leaves the machine, nothing leaves its box."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tavernkit.playground.edge.presenting.messages import MESSAGES_PER_PAGE
from tests.browser.conftest import Gate, OpenWindow
from tests.browser.looks import DESKTOP, PHONE, show
from tests.browser.story import Story
from tests.playground.support.server import ScriptedModel, ServerProcess, running
from tests.playground.web.hostile.corpus import HUGE, NAMES, SURVIVOR, TEXTS
from tests.support.hanging import HANG_SECONDS

WATCH = "window.ran = []; window.pwned = () => { window.ran.push(document.readyState) }"
# What a message may not have in it, as the browser has read it.
SMUGGLED = """() => [...document.querySelectorAll('.story *')].filter((element) =>
  /^(script|style|svg|math|iframe|object|embed|form|link|meta|base|input|button|template|video|audio)$/i
    .test(element.tagName)
  || [...element.attributes].some(({ name }) => name.startsWith('on') || name.startsWith('data-')
    || ['id', 'style', 'role', 'autofocus', 'contenteditable', 'popover', 'srcset'].includes(name))
).map((element) => element.outerHTML.slice(0, 200))"""
# Boxes that reach out of the window, and names that stand in the way of others.
OUT_OF_PLACE = """() => {
  const wide = [...document.querySelectorAll('header, main, footer, article, .story')].filter((element) => {
    const { left, right } = element.getBoundingClientRect()
    return left < -0.5 || right > innerWidth + 0.5
  })
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  const doubled = ids.filter((id, index) => ids.indexOf(id) !== index)
  const page = document.scrollingElement
  return [
    ...wide.map((element) => `wider than the window: ${element.outerHTML.slice(0, 200)}`),
    ...doubled.map((id) => `twice in the page: ${id}`),
    ...(page.scrollWidth > innerWidth ? [`the page scrolls sideways: ${page.scrollWidth}`] : []),
  ]
}"""
# Each message clips what is in it, so that no letter of it is drawn over another message.
UNCLIPPED = (
    "() => [...document.querySelectorAll('.story')].filter((at) => getComputedStyle(at).overflowX !== 'clip').length"
)
MESSAGES_PER_CONVERSATION = MESSAGES_PER_PAGE
# A sample, because importing takes its time.
IN_LISTS = ("markup", "script", "bidi", "zalgo", "one long word")
MEGABYTES = ("a million brackets", "a million tags", "a million letters", "ten million characters")


class HostileSite:
    """A server whose library and stories came from strangers."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._client = httpx2.Client(
            base_url=f"{server.url}/api/v1", headers={"Origin": server.url}, timeout=HANG_SECONDS, trust_env=False
        )
        self.character_ids = [self._add_character(NAMES[name]) for name in IN_LISTS]
        self._add_lorebook()
        texts = list(TEXTS.values())
        starts = range(0, len(texts), MESSAGES_PER_CONVERSATION)
        self.conversations = [
            self._add_conversation(texts[start : start + MESSAGES_PER_CONVERSATION], title)
            for start, title in zip(starts, NAMES.values(), strict=False)
        ]
        self.huge = self._add_conversation([HUGE[name] for name in MEGABYTES], NAMES["one long word"])

    def close(self) -> None:
        self._client.close()

    def _post(self, path: str, **request: Any) -> Any:
        answer = self._client.post(path, **request)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def _add_character(self, name: str) -> str:
        hostile = "\n\n".join(text for text in TEXTS.values() if len(text) < 300)
        card = {
            "spec": "chara_card_v2",
            "spec_version": "2.0",
            "data": {
                "name": name.replace("\ud800", ""),
                **dict.fromkeys(("creator_notes", "first_mes"), hostile),
                # Short, so that the model still reads what is said to it.
                **dict.fromkeys(("description", "personality", "scenario", "system_prompt"), TEXTS["script"]),
                "tags": list(NAMES.values()),
                "creator": name,
                "character_book": {
                    "name": name,
                    "entries": [{"keys": [name], "content": TEXTS["svg"], "comment": name}],
                },
            },
        }
        file = ("card.json", json.dumps(card).encode(), "application/json")
        found: str = self._post("/characters", files={"file": file})["character"]["id"]
        return found

    def _add_lorebook(self) -> None:
        for name in (NAMES[name] for name in IN_LISTS):
            book = {"entries": {"0": {"uid": 0, "key": [name], "comment": name, "content": TEXTS["style attribute"]}}}
            file = (f"{name[:40]}.json".replace("/", "_"), json.dumps(book).encode(), "application/json")
            self._post("/lorebooks/import", files={"file": file})

    def _add_conversation(self, texts: Sequence[str], title: str) -> str:
        space = {
            "name": title[:200],
            "character_ids": self.character_ids[:1],
            "greeting": False,
            "name_override": title,
        }
        space_id = self._post("/spaces", json=space)["space"]["id"]
        lines: list[dict[str, object]] = [{"user_name": title, "character_name": title, "chat_metadata": {}}]
        for number, text in enumerate(texts):
            name = list(NAMES.values())[number % len(NAMES)]
            lines.append({"name": name, "is_user": number % 3 == 0, "mes": text, "send_date": "2026-10-14T19:42:00Z"})
        chat = "\n".join(json.dumps(line) for line in lines).encode()
        file = ("chat.jsonl", chat, "application/x-ndjson")
        imported = self._post(f"/spaces/{space_id}/conversations/import", files={"file": file})
        conversation_id: str = imported["conversations"][0]["id"]
        return conversation_id


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, scripted_model: ScriptedModel) -> Iterator[HostileSite]:
    folder = tmp_path_factory.mktemp("hostile")
    lasting = ServerProcess(folder, model_url=scripted_model.base_url, lease_seconds=str(HANG_SECONDS))
    with running(lasting) as server:
        site = HostileSite(server)
        yield site
        site.close()


def assert_unharmed(page: Page) -> None:
    assert page.evaluate("window.ran") == []
    assert page.evaluate(SMUGGLED) == []
    assert page.evaluate(OUT_OF_PLACE) == []
    assert page.evaluate(UNCLIPPED) == 0


def assert_usable(page: Page, url: str) -> None:
    """The page is where it was, and the box to write in is seen and not covered."""
    assert page.url == url
    box = page.locator("#composer_text")
    expect(box).to_be_in_viewport(ratio=1)
    assert box.evaluate("""box => {
      const { left, top, width, height } = box.getBoundingClientRect()
      return box.contains(document.elementFromPoint(left + width / 2, top + height / 2))
    }""")


def test_hostile_conversations_are_only_words(open_window: OpenWindow, hostile: HostileSite) -> None:
    page = open_window(hostile.server)
    page.add_init_script(WATCH)
    for conversation_id in hostile.conversations:
        url = f"{hostile.server.url}/conversations/{conversation_id}"
        page.goto(url)
        shown = page.locator("#messages .story")
        expect(shown.filter(has_text=SURVIVOR)).to_have_count(shown.count())
        assert shown.count() > 5
        for size in (DESKTOP, PHONE):
            show(page, size)
            assert_unharmed(page)
            assert_usable(page, url)
    # Whoever touches and walks through it starts nothing either.
    for size in (DESKTOP, PHONE):
        show(page, size)
        page.mouse.move(size[0] / 2, size[1] / 2)
        page.mouse.wheel(0, -3_000)
        for _ in range(20):
            page.keyboard.press("Tab")
    assert page.evaluate("window.ran") == []


def test_a_hostile_reply_is_only_words_while_it_is_written(
    open_window: OpenWindow, hostile: HostileSite, gate: Gate
) -> None:
    page = open_window(hostile.server)
    page.add_init_script(WATCH)
    url = f"{hostile.server.url}/conversations/{hostile.conversations[0]}"
    page.goto(url)
    story = Story(page)
    attack = "<img src=x onerror=pwned()> <script>pwned()</script> <svg onload=pwned()> stays"
    story.send(f"[[say: {attack} here]] {gate.behind(len(attack.split()))}")
    story.wait_until_reply_says("stays")
    assert_unharmed(page)
    gate.open()
    expect(story.replies.filter(has_text="stays here")).to_have_count(1)
    assert_unharmed(page)
    assert_usable(page, url)


def test_messages_of_megabytes_leave_the_page_usable(open_window: OpenWindow, hostile: HostileSite) -> None:
    page = open_window(hostile.server)
    page.add_init_script(WATCH)
    url = f"{hostile.server.url}/conversations/{hostile.huge}"
    page.goto(url)
    expect(page.locator("#messages > li")).to_have_count(len(MEGABYTES))
    assert_unharmed(page)
    assert_usable(page, url)
    story = Story(page)
    story.send("[[say: Still here.]]")
    expect(story.replies.filter(has_text="Still here.")).to_have_count(1)


def test_hostile_names_stay_in_their_lists(open_window: OpenWindow, hostile: HostileSite) -> None:
    page = open_window(hostile.server, size=PHONE)
    page.add_init_script(WATCH)
    page.goto("/")
    links = page.locator(".sitebar-links a").evaluate_all("links => links.map((link) => link.pathname)")
    assert links
    details = [f"/characters/{character_id}" for character_id in hostile.character_ids]
    for path in [*links, *(details if "/characters" in links else [])]:
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok, path
        assert page.evaluate("window.ran") == [], path
        assert page.evaluate(OUT_OF_PLACE) == [], path
