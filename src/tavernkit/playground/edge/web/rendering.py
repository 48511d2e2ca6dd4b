"""Templates: where they are, what they can call, and how a page is drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.edge.web.assets import asset
from tavernkit.playground.story.artifacts.documents import in_words

_TIME = Markup('<time datetime="{}" data-local data-controller="local-time">{}</time>')


@cache
def templates() -> Environment:
    """The environment of all pages: everything is escaped, and a name that nobody gave is an error."""
    environment = Environment(
        loader=PackageLoader("tavernkit.playground.edge.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = asset
    environment.filters["initials"] = initials
    environment.filters["local_time"] = local_time
    environment.filters["shown_name"] = shown_name
    environment.filters["in_words"] = in_words
    environment.filters["without_credentials"] = without_credentials
    return environment


def render(name: str, **context: object) -> Markup:
    """Draw a template. The result is safe to be put into another page or into a stream."""
    return Markup(templates().get_template(name).render(**context))  # noqa: S704 - the environment escapes everything


def local_time(moment: datetime) -> Markup:
    """A moment that reads well without a script and becomes the reader's own time with one."""
    moment = moment.astimezone(UTC)
    return _TIME.format(moment.isoformat(timespec="seconds"), f"{moment:%Y-%m-%d %H:%M} UTC")
