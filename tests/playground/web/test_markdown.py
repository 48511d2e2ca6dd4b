"""Message text to HTML: what it looks like, that it is safe whatever comes, and that it never takes long."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.playground.web.markdown import MAX_LENGTH, render_markdown


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>\n"),
        ("*soft* **loud** ~~gone~~", "<p><em>soft</em> <strong>loud</strong> <s>gone</s></p>\n"),
        ("# Chapter", "<h4>Chapter</h4>\n"),
        ("    indented, no program", "<p>indented, no program</p>\n"),
        ("a scene\n---\nanother", "<p>a scene</p>\n<hr>\n<p>another</p>\n"),
        ("2 < 3 & so on", "<p>2 &lt; 3 &amp; so on</p>\n"),
        ("![a *cat*](https://example.org/cat.png)", "<p>a cat</p>\n"),
        ('<b style="color: red" class="said" id="run">hi</b>', "<p><b>hi</b></p>\n"),
        ("<details><summary>More</summary>words</details>", "<details><summary>More</summary>words</details>"),
    ],
)
def test_what_people_write_looks_as_they_mean_it(text: str, html: str) -> None:
    assert render_markdown(text) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('"Sit," she says.', '<q class="said">"Sit,"</q> she says.'),
        ('"We *were* shut."', '<q class="said">"We <em>were</em> shut."</q>'),
        ('*"Sit,"* she thinks.', '<em><q class="said">"Sit,"</q></em> she thinks.'),
        ("“Yes” «oui» „ja“", '<q class="said">“Yes”</q> <q class="said">«oui»</q> <q class="said">„ja“</q>'),
        ("「はい」", '<q class="said">「はい」</q>'),
        ('"outer “inner” on"', '<q class="said">"outer “inner” on"</q>'),
        ('6\'2" tall, "he" said', '6\'2" tall, <q class="said">"he"</q> said'),
        ('"never closed', '"never closed'),
        ('*"begun* here"', '<em>"begun</em> here"'),
        ('`"code"`', '<code>"code"</code>'),
        ("don't 'quote' this", "don't 'quote' this"),
    ],
)
def test_speech_is_marked(text: str, html: str) -> None:
    assert render_markdown(text) == f"<p>{html}</p>\n"


def test_links_lead_out_and_nowhere_else() -> None:
    assert render_markdown("[a](https://example.org/)") == (
        '<p><a href="https://example.org/" target="_blank" rel="noopener noreferrer nofollow">a</a></p>\n'
    )
    assert "href" not in render_markdown("[a](/runs/1/stop) [b](//example.org) <a href='javascript:alert(1)'>c</a>")


class _Reader(HTMLParser):
    """Collects what a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]


HARMLESS = set(
    re.findall(
        r"\w+",
        "p br hr h4 h5 h6 blockquote pre div span ul ol li details summary em strong b i u s del ins mark small sub "
        "sup code kbd q a table thead tbody tr th td ruby rt rp",
    )
)
ATTACKS = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)>",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "<a href='java\tscript:alert(1)'>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<form action=/spaces><button formaction=javascript:alert(1)>",
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
        "<turbo-stream action=remove target=messages>",
        "<div id=run class=message style='position:fixed' data-controller=typing onclick=alert(1)>",
        "<base href=//example.org>",
        "<meta http-equiv=refresh content=0>",
        "<!--",
        "]]>",
        "<![CDATA[",
        "<p title='",
        "`",
        "```\n",
        "> ",
        "- ",
        '"',
        "\n\n",
        "*",
    ]
)


@given(st.lists(ATTACKS | st.text(max_size=20), max_size=12).map("".join))
def test_nothing_dangerous_comes_out_whatever_goes_in(text: str) -> None:
    reader = _Reader()
    reader.feed(render_markdown(text))
    assert reader.tags <= HARMLESS
    for tag, name, value in reader.attributes:
        assert name == "lang" or (tag, name) in {
            ("a", "href"),
            ("a", "title"),
            ("a", "rel"),
            ("a", "target"),
            ("ol", "start"),
            ("details", "open"),
            ("q", "class"),
        }
        if name == "href":
            assert re.match(r"https?:|mailto:", value or "", re.IGNORECASE)
        if name == "class":
            assert value in ("said", "")


@given(st.text(alphabet="ab \n", max_size=200))
def test_no_word_is_lost(text: str) -> None:
    shown = re.sub(r"<[^>]*>", " ", render_markdown(text))
    assert shown.split() == text.split()


@pytest.mark.parametrize(
    "unit",
    ["[", ">", "*", "_", "`", "<", "![", "](", "*a ", "**a_b ", '"', "「", "|a|b\n|-|-\n", "- ", "a\n", "# a\n", "<b>",
     "<b><p>", "<div>", "<table><b>", "<!--", "&#1;", "\\", "- a\n  ", "\n"],
)  # fmt: skip
@pytest.mark.parametrize("size", [5_000, MAX_LENGTH, 1_000_000])
def test_hostile_text_is_not_slow(unit: str, size: int) -> None:
    text = (unit * (size // len(unit) + 1))[:size]
    begin = time.process_time()
    render_markdown(text)
    # Far above what is measured (a third of a second at most), and far below what an unguarded parser takes.
    assert time.process_time() - begin < 2


def test_a_wall_of_text_is_shown_plainly_and_whole() -> None:
    text = "one < two\nthree\n\n" * (MAX_LENGTH // 10)
    html = render_markdown(text)
    assert html.startswith("<p>one &lt; two<br>\nthree</p>\n<p>one")
    assert html.count("three") == text.count("three")
