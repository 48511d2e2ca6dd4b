"""Message text to HTML: what it looks like."""

import pytest

from tavernkit.playground.base.text.markdown import render_markdown


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>\n"),
        ("*soft* **loud** ~~gone~~", "<p><em>soft</em> <strong>loud</strong> <s>gone</s></p>\n"),
        ("# Chapter", "<h4>Chapter</h4>\n"),
        ("    indented, no program", "<p>indented, no program</p>\n"),
        ("a scene\n---\nanother", "<p>a scene</p>\n<hr>\n<p>another</p>\n"),
        ("2 < 3 & so on", "<p>2 &lt; 3 &amp; so on</p>\n"),
        ("<h1>Chapter</h1>", "<h4>Chapter</h4>"),
        ("<!-- a note -->words", "words"),
        ("a `b` <sup>c</sup>", "<p>a <code>b</code> <sup>c</sup></p>\n"),
        ("```\n<b>\n```", '<pre tabindex="0"><code>&lt;b&gt;\n</code></pre>\n'),
        ("Call me <name>.", "<p>Call me .</p>\n"),
        ('<b style="color: red" class="said" id="run">hi</b>', "<p><b>hi</b></p>\n"),
        ("<details><summary>More</summary>words</details>", "<details><summary>More</summary>words</details>"),
    ],
)
def test_what_people_write_looks_as_they_mean_it(text: str, html: str) -> None:
    assert plainer(render_markdown(text)) == html


def plainer(html: str) -> str:
    """Without the attribute that every block has: the direction of its own text."""
    return html.replace(' dir="auto"', "")


def test_every_block_has_a_direction_of_its_own() -> None:
    assert render_markdown("שלום\n\n- hello") == (
        '<p dir="auto">שלום</p>\n<ul dir="auto">\n<li dir="auto">hello</li>\n</ul>\n'
    )


def test_a_table_can_be_scrolled() -> None:
    html = plainer(render_markdown("|a|b|\n|-|-|\n|c|d|"))
    assert html.startswith('<table tabindex="0">')
    assert "<td>c</td>" in html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('"Sit," she says.', '<q class="said">"Sit,"</q> she says.'),
        ('"We *were* shut."', '<q class="said">"We <em>were</em> shut."</q>'),
        ('*"Sit,"* she thinks.', '<em><q class="said">"Sit,"</q></em> she thinks.'),
        ("“Yes” «oui» „ja“", '<q class="said">“Yes”</q> <q class="said">«oui»</q> <q class="said">„ja“</q>'),
        ("彼は「はい」と", '彼は<q class="said">「はい」</q>と'),
        ('他说"好"。', '他说<q class="said">"好"</q>。'),
        ("« Oui », „tak”", '<q class="said">« Oui »</q>, <q class="said">„tak”</q>'),
        ("「『中』外」", '<q class="said">「『中』外」</q>'),
        ('<b>"begun</b> here"', '<b>"begun</b> here"'),
        ('<b>"in bold"</b>', '<b><q class="said">"in bold"</q></b>'),
        ('"a"  \n"b"', '<q class="said">"a"</q><br>\n<q class="said">"b"</q>'),
        ('"outer “inner” on"', '<q class="said">"outer “inner” on"</q>'),
        ('6\'2" tall, "he" said', '6\'2" tall, <q class="said">"he"</q> said'),
        ('"never closed', '"never closed'),
        ('*"begun* here"', '<em>"begun</em> here"'),
        ('`"code"`', '<code>"code"</code>'),
        ("don't 'quote' this", "don't 'quote' this"),
    ],
)
def test_speech_is_marked(text: str, html: str) -> None:
    assert plainer(render_markdown(text)) == f"<p>{html}</p>\n"


def test_links_lead_out_and_nowhere_else() -> None:
    assert render_markdown("[a](https://example.org/)") == (
        '<p dir="auto"><a href="https://example.org/" target="_blank" rel="noopener noreferrer nofollow">a</a></p>\n'
    )
    assert "href" not in render_markdown("[a](/runs/1/stop) [b](//example.org) <a href='javascript:alert(1)'>c</a>")


def test_a_quotation_never_reaches_into_the_next_paragraph() -> None:
    assert "<q" not in render_markdown('"begun\n\nended"')


ADDRESS = "/api/v1/blobs/" + "a" * 64


@pytest.mark.parametrize(
    "text",
    [f"![a smile]({ADDRESS})", "![a smile](smile)", "![a smile](<embeded://assets/a smile.png>)",
     "<img src='embeded://assets/a smile.png' alt='a smile'>"],
)  # fmt: skip
def test_pictures_of_a_card_are_shown(text: str) -> None:
    html = render_markdown(text, {"smile": "a" * 64, "embeded://assets/a smile.png": "a" * 64})
    assert f'src="{ADDRESS}"' in html
    assert 'alt="a smile"' in html


@pytest.mark.parametrize(
    "text",
    ["![a *cat*](https://example.org/cat.png)", "<img src='https://example.org/cat.png' onerror=x alt='a cat'>",
     "<p><img alt=\"a cat\" width=9 src=https://example.org/cat.png></p>"],
)  # fmt: skip
def test_pictures_from_elsewhere_are_links(text: str) -> None:
    html = render_markdown(text)
    assert "<img" not in html
    assert 'class="picture-link"' in html
    assert 'href="https://example.org/cat.png"' in html
    assert ">a cat</a>" in html


def test_a_picture_in_a_link_leaves_its_words() -> None:
    html = render_markdown("[![a cat](https://example.org/cat.png)](https://example.org/)")
    assert html.count("<a ") == 1
    assert ">a cat</a>" in html


def test_a_picture_that_is_nowhere_leaves_its_words() -> None:
    assert plainer(render_markdown("![a cat](cat.png) ![](data:image/png;base64,AA)")) == "<p>a cat picture</p>\n"
