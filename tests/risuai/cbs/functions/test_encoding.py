"""Codes, escapes and markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.cbs import CBSCall, CBSOptions, Functions
from tavernkit.risuai.cbs.functions import BUILTIN

from .scenes import a_scene, says


def answer(name: str, *arguments: str) -> str | None:
    function = Functions(BUILTIN).table[name]
    call = CBSCall(
        text=name, arguments=arguments, scene=a_scene(), options=CBSOptions(), temporary={}, parse=lambda text: text
    )
    return function(call)


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{unicodeencode::A}} {{unicodeencode::😀::1}} {{unicodeencode::A::9}}", "65 56832 NaN"),
        ("{{unicodedecode::65601}}{{unicodedecode::x}}{{u::D55C}}{{ue::41}}", "A\0한A"),
        ("{{u::d83d}}{{u::de00}}", "😀"),
        ("{{fromhex::0x1A}} {{fromhex::12g}} {{fromhex::zz}}", "26 18 NaN"),
        ("{{tohex::255}} {{tohex::-16}} {{tohex::12px}} {{tohex}} {{tohex::1e999}}", "ff -10 c NaN 1"),
        ("{{hash::tide}} {{hash::}}", "0996483 0000040"),
        ("{{xor::tide}} {{xord::i5abmg==}} [{{xor}}]", "i5abmg== tide []"),
        ("{{crypt::abc::0}}{{crypt::a::1.5}}{{crypt::a::70000}}{{crypt::{{crypt::hi}}}}", "abcbᇑhi"),
    ],
)
def test_codes(macro: str, text: str) -> None:
    assert says(macro) == text


@given(st.text())
def test_what_is_hidden_can_be_read_again(text: str) -> None:
    hidden = answer("crypt", text)
    assert hidden is not None
    assert answer("crypt", hidden) == text
    hidden = answer("xor", text)
    assert hidden is not None
    assert answer("xordecrypt", hidden) == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{decbo}}{{decbc}}{{bo}}{{bc}}", "\ue9b8\ue9b9\ue9b8\ue9b8\ue9b9\ue9b9"),
        ("{{(}}{{)}}{{<}}{{>}}{{dec}}{{;}}", "\ue9ba\ue9bb\ue9bc\ue9bd\ue9be\ue9bf"),
        ("a{{br}}b{{blank}}{{hidden_key::x}}", "a\nb"),
        (r"{{cbr}} {{cbr::2}} {{cnl::-3}} [{{cbr::x}}]", r"\n cbr::2cbr::2 cnl::-3 []"),
    ],
)
def test_escapes(macro: str, text: str) -> None:
    assert says(macro) == text


@pytest.mark.parametrize(
    ("macro", "text"),
    [
        ("{{button::Ring}}", '<button class="button-default" risu-trigger="undefined">Ring</button>'),
        ("{{risu::}}", '<img src="/logo2.png" style="height:45px;width:45px" />'),
        ("{{tex}} {{katex::x}}", "$$undefined$$ $$x$$"),
        ("{{ruby::漢::かん}}", "<ruby>漢<rp> (</rp><rt>かん</rt><rp>) </rp></ruby>"),
        ("{{codeblock::a<b & \"c\" 'd'}}", "<pre><code>a&lt;b & &quot;c&quot; &#39;d&#39;</code></pre>"),
        ("{{codeblock::js::x::y}}", '<pre-hljs-placeholder lang="js">y</pre-hljs-placeholder>'),
    ],
)
def test_markup(macro: str, text: str) -> None:
    assert says(macro) == text


def test_comments_and_files_are_shown_on_the_page_and_read_in_the_prompt() -> None:
    text = "[{{comment::note}}{{file::log::aGVsbG8}}]"
    assert says(text) == "[hello]"
    shown = '[<div class="risu-comment">note</div><br><div class="risu-file">log</div><br>]'
    assert says(text, is_display=True) == shown
    assert says("{{file::x}}") == "{{file::x}}"
