"""Sentences in templates, and errors that keep theirs."""

from __future__ import annotations

from markupsafe import Markup

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.languages import Sentence, gettext, listed, stored, stored_sentence
from tavernkit.playground.base.storable import sentence_of
from tavernkit.playground.edge.web.rendering import templates


def test_a_sentence_with_html_among_its_values_escapes_the_others_and_keeps_their_braces() -> None:
    template = templates().from_string('{{ _("{link} & {name}", link=link, name=name) }}')
    shown = template.render(link=Markup("<a>all</a>"), name="{{char}} <b> {")
    assert shown == "<a>all</a> &amp; {{char}} &lt;b&gt; {"


def test_a_list_of_sentences_is_a_sentence_that_can_be_stored() -> None:
    counts = listed([gettext("{count} imported", count=1200), gettext("{count} skipped", count=1), "x"])
    assert counts == "1,200 imported, 1 skipped, x"
    kept = stored_sentence(stored("done", counts))
    assert isinstance(kept, Sentence)
    assert kept == counts


def test_an_error_keeps_the_sentence_of_the_application_and_the_text_of_the_library() -> None:
    ours = sentence_of(TavernKitError(gettext("{name} is gone.", name="Alice")))
    assert isinstance(ours, Sentence)
    assert ours == "Alice is gone."
    assert sentence_of(TavernKitError("a \x00 b")) == "a  b"
