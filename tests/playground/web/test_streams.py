"""Turbo streams."""

from markupsafe import Markup

from tavernkit.playground.edge.web.streams import stream


def test_a_stream_says_what_to_do_where() -> None:
    assert stream("append", "messages", Markup("<li>a</li>")) == (
        '<turbo-stream action="append" target="messages"><template><li>a</li></template></turbo-stream>'
    )


def test_streams_are_joined() -> None:
    both = stream("remove", "a") + stream("remove", "b")
    assert isinstance(both, Markup)
    assert both.count("<turbo-stream") == 2


def test_what_is_not_marked_as_safe_is_escaped() -> None:
    careless: str = "<script>"
    assert "<script>" not in stream("update", '"><b>', Markup.escape(careless))
    assert "<b>" not in stream("update", '"><b>')
