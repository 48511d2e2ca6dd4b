"""Templates: where they are, what they can call, and how a page is drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tavernkit.playground.base.accounts.shortcuts import FIXED_KEYS, key_caps
from tavernkit.playground.base.languages import (
    Sentence,
    current_language,
    gettext,
    messages_of_scripts,
    ngettext,
    stored_sentence,
    translated,
)
from tavernkit.playground.base.languages.catalogues import ENGLISH
from tavernkit.playground.base.languages.sentences import filled_in, template_in, written
from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.names import initials, shown_name
from tavernkit.playground.edge.web.assets import asset
from tavernkit.playground.edge.web.preferences import current_appearance, current_bindings, key_hint, shortcut_groups
from tavernkit.playground.edge.web.trashed import just_trashed
from tavernkit.playground.story.artifacts.documents import in_words
from tavernkit.playground.story.chatfiles.formats import FORMATS
from tavernkit.playground.story.paths.pictures import MAX_PICTURE_BYTES, MAX_PICTURES

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
        finalize=_in_readers_language,
    )
    # JSON in a page is UTF-8 like the page: a letter of another alphabet is two or three bytes then, and not six.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "ensure_ascii": False}
    environment.globals["_"] = _gettext
    environment.globals["ngettext"] = _ngettext
    environment.globals["current_language"] = current_language
    environment.globals["messages_of_scripts"] = messages_of_scripts
    environment.globals["current_appearance"] = current_appearance
    environment.globals["current_bindings"] = current_bindings
    environment.globals["key_hint"] = key_hint
    environment.globals["shortcut_groups"] = shortcut_groups
    environment.globals["fixed_keys"] = FIXED_KEYS
    environment.globals["asset"] = asset
    environment.globals["just_trashed"] = just_trashed
    environment.globals["picture_limits"] = {"count": MAX_PICTURES, "megabytes": MAX_PICTURE_BYTES // 2**20}
    environment.globals["chat_formats"] = FORMATS
    environment.filters["initials"] = initials
    environment.filters["key_caps"] = key_caps
    environment.filters["local_time"] = local_time
    environment.filters["number"] = _number
    environment.filters["shown_name"] = shown_name
    environment.filters["stored_sentence"] = stored_sentence
    environment.filters["in_words"] = in_words
    environment.filters["without_credentials"] = without_credentials
    return environment


def render(name: str, **context: object) -> Markup:
    """Draw a template. The result is safe to be put into another page or into a stream."""
    return Markup(templates().get_template(name).render(**context))  # noqa: S704 - the environment escapes everything


def _in_readers_language(value: object) -> object:
    return translated(value) if isinstance(value, Sentence) else value


def _number(value: float) -> str:
    """A bare number, grouped as the reader's language does it."""
    return written(value, current_language())


def _gettext(template: str, /, **values: object) -> str:
    if not values and current_language() == ENGLISH:
        # Most of what a page says; there are hundreds on a long one.
        return template
    return _shown(gettext(template, **values))


def _ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    return _shown(ngettext(one, many, count, **values))


def _shown(sentence: Sentence) -> str:
    """The sentence in the reader's language; with HTML among its values it is HTML, and the rest of it is escaped."""
    if not any(isinstance(value, Markup) for value in sentence.values.values()):
        return translated(sentence)
    language = current_language()
    values = {name: escape(written(value, language)) for name, value in sentence.values.items()}
    shown = filled_in(escape(template_in(language, sentence)), values, language)
    return Markup(shown)  # noqa: S704 - the template and each value are escaped


def local_time(moment: datetime) -> Markup:
    """A moment that reads well without a script and becomes the reader's own time with one."""
    moment = moment.astimezone(UTC)
    shown = translated(gettext("{date} {time} UTC", date=f"{moment:%Y-%m-%d}", time=f"{moment:%H:%M}"))
    return _TIME.format(moment.isoformat(timespec="seconds"), shown)
