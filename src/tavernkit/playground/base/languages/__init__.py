"""The interface in the reader's language."""

from tavernkit.playground.base.languages.catalogues import LANGUAGES, accepted_language, messages_of_scripts
from tavernkit.playground.base.languages.sentences import (
    Sentence,
    current_language,
    gettext,
    listed,
    ngettext,
    sentence_of,
    stored,
    stored_sentence,
    translated,
    use_language,
)

__all__ = [
    "LANGUAGES",
    "Sentence",
    "accepted_language",
    "current_language",
    "gettext",
    "listed",
    "messages_of_scripts",
    "ngettext",
    "sentence_of",
    "stored",
    "stored_sentence",
    "translated",
    "use_language",
]
