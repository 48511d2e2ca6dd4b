"""Whatever strangers write, what comes out of the renderer is harmless, whole and quick."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.text.markdown import MAX_LENGTH, MAX_MARKS, MAX_SHOWN, render_markdown
from tavernkit.playground.base.text.sanitising import sanitise
from tests.playground.web.hostile.corpus import HUGE, NAMES, SURVIVOR, TEXTS
from tests.support.hanging import not_hanging

HARMLESS_TAGS = set(
    re.findall(
        r"\w+",
        "p br hr h4 h5 h6 blockquote pre div span ul ol li details summary em strong b i u s del ins mark small sub "
        "sup code kbd q a img table thead tbody tr th td ruby rt rp",
    )
)
ALLOWED_VALUES = {
    ("*", "lang"): "",
    ("*", "dir"): "auto",
    ("pre", "tabindex"): "0",
    ("table", "tabindex"): "0",
    ("a", "href"): r"(https?|mailto):.*|/api/v1/blobs/[0-9a-f]{64}",
    ("a", "title"): ".*",
    ("a", "rel"): "noopener noreferrer nofollow",
    ("a", "target"): "_blank",
    ("a", "class"): "|picture-link",
    ("img", "src"): "/api/v1/blobs/[0-9a-f]{64}",
    ("img", "alt"): ".*",
    ("img", "title"): ".*",
    ("img", "loading"): "lazy",
    ("img", "decoding"): "async",
    ("ol", "start"): ".*",
    ("details", "open"): "",
    ("q", "class"): "|said",
}


class _Reader(HTMLParser):
    """Collects what a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words += data


def assert_harmless(html: str) -> None:
    reader = _Reader(html)
    assert reader.tags <= HARMLESS_TAGS
    for tag, name, value in reader.attributes:
        allowed = ALLOWED_VALUES.get((tag, name), ALLOWED_VALUES.get(("*", name)))
        assert allowed is not None, f"{name} on {tag}"
        assert name == "lang" or re.fullmatch(allowed, value, re.IGNORECASE | re.DOTALL), f"{name}={value!r} on {tag}"
    assert not re.search("[\u202a-\u202e]", html)
    # Whoever reads it once more, by the rules of HTML, finds the same.
    assert sanitise(html) == html


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text_is_harmless_and_hides_nothing_behind_it(name: str) -> None:
    html = render_markdown(TEXTS[name])
    assert_harmless(html)
    assert SURVIVOR in _Reader(html).words


PIECES = st.sampled_from(
    [
        *(text.removesuffix(SURVIVOR).strip() for name, text in TEXTS.items() if len(text) < 400),
        *(
            "<b>",
            "</b>",
            "<p>",
            "</p>",
            "<div>",
            "</div>",
            "<table>",
            "<td>",
            "</table>",
            "<li>",
            "<ul>",
            "<pre>",
            "<a>",
        ),
        *("<!--", "-->", "]]>", "`", "```\n", "> ", "- ", '"', "“", "\n\n", "\n", "*", "_", "![", "](", "<", "&"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=20), max_size=12).map("".join))
def test_nothing_dangerous_comes_out_whatever_goes_in(text: str) -> None:
    assert_harmless(render_markdown(text))


@given(st.text(alphabet="ab \n", max_size=200))
def test_no_word_is_lost(text: str) -> None:
    assert _Reader(render_markdown(text)).words.split() == text.split()


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_is_shown_plainly_at_once_and_not_without_end(name: str) -> None:
    text = HUGE[name]
    with not_hanging():
        html = render_markdown(text)
    assert len(html) < 12 * MAX_SHOWN
    left_out = len(text) - MAX_SHOWN
    assert (f"{left_out:,} more characters" in html) == (left_out > 0)


@pytest.mark.parametrize(
    "unit",
    ["[", ">", "*", "_", "`", "<", "![", "](", "*a ", "**a_b ", '"', "「", "|a|b\n|-|-\n", "- ", "a\n", "# a\n", "<b>",
     "<b><p>", "<div>", "<table><b>", "<!--", "<!-- --", "&#1;", "\\", "- a\n  ", "\n", '<b>"', "<img src=x>", "<img ",
     "![a](http://b) ", "<h1>", "<script>", "</p>"],
)  # fmt: skip
def test_no_text_takes_long(unit: str) -> None:
    marks = len(re.findall(r"[^\w\s()#:/.=;-]|\n", unit))
    for text in ((unit * MAX_LENGTH)[:MAX_LENGTH], unit * (MAX_MARKS // max(1, marks))):
        with not_hanging():
            render_markdown(text)


def test_a_wall_of_text_is_shown_plainly_and_whole() -> None:
    text = "one < two\nthree\n\n" * (MAX_LENGTH // 10)
    html = render_markdown(text)
    assert html.startswith('<p dir="auto">one &lt; two<br>\nthree</p>\n<p dir="auto">one')
    assert html.count("three") == text.count("three")
    assert_harmless(html)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_keeps_to_its_line(name: str) -> None:
    shown = shown_name(NAMES[name])
    assert shown
    assert len(shown) <= 200
    assert not re.search("[\x00-\x1f\u202a-\u202e\u2028\u2066-\u2069]", shown)
    assert not re.search("[\u0300-\u036f]{7}", shown)


@pytest.mark.parametrize("name", ["Ottoline Marsh", "Nguyễn Thị", "ישראל", "दिव्या", "ผู้ใหญ่", "👩‍🚀 Ada", 'O\'Neil-"Bo"'])
def test_a_usual_name_is_shown_as_it_is(name: str) -> None:
    assert shown_name(name) == name
