"""Sentences in templates: what people typed stays text, whatever is in it."""

from __future__ import annotations

from typing import cast

import pytest
from markupsafe import Markup

from tavernkit.playground.edge.web.rendering import templates


@pytest.mark.parametrize("name", ["{link}", "{0}", "{{char}}", "{", "<b>", "{name}"])
def test_html_in_a_sentence_leaves_braces_and_marks_of_other_values_alone(name: str) -> None:
    template = templates().from_string("""{{ _("Open {link} & greet {name}.", link=link, name=name) }}""")
    link = Markup("<a>it</a>")
    assert template.render(link=link, name=name) == Markup("Open {} &amp; greet {}.").format(link, name)


def test_html_in_a_sentence_about_a_number_takes_the_form_of_the_number() -> None:
    many = templates().from_string(
        """{{ ngettext("{count} turn of {name}", "{count} turns of {name}", n, name=name) }}"""
    )
    shown = [cast("str", many.render(n=n, name=Markup("<b>Ada</b>"))) for n in (1, 1_200)]
    assert shown == ["1 turn of <b>Ada</b>", "1,200 turns of <b>Ada</b>"]
