"""Keeps the catalogues of the interface in step with the source.

`python scripts/translations.py` collects the sentences of templates, services, scripts and settings into
`messages.pot` and brings them into every `.po` file; translators fill in what is empty. With `--check` nothing is
written, and the exit code says whether every sentence is translated.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from tavernkit.playground.base.languages.catalogues import ENGLISH, LANGUAGES, forms_of
from tavernkit.playground.story.settings_schema.resolving import descriptions

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src/tavernkit/playground/base/languages"
POT = FOLDER / "messages.pot"
PLAYGROUND = "src/tavernkit/playground"
METHODS = {
    PLAYGROUND: [("**.py", "python"), ("**/templates/**.html", "jinja2")],
    "frontend": [("**.ts", "javascript")],
}
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2)}
_PLACE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def source_catalogue() -> Catalog:
    """All sentences of the source, with the files that they stand in."""
    catalogue = new_catalogue()
    for folder, methods in METHODS.items():
        found = extract_from_dir(
            ROOT / folder,
            method_map=methods,
            keywords=KEYWORDS,
            comment_tags=("Translators:",),
            strip_comment_tags=True,
        )
        for file, _, message, comments, context in sorted(found, key=lambda item: (item[0], item[1])):
            # Without line numbers, so that a change elsewhere in a file changes nothing here.
            catalogue.add(message, locations=[(f"{folder}/{file}", 0)], auto_comments=comments, context=context)
    for sentence in descriptions():
        catalogue.add(sentence, locations=[(f"{PLAYGROUND}/story/settings_schema/models.py", 0)])
    return catalogue


def new_catalogue(language: str | None = None) -> Catalog:
    locale = None if language is None else language.replace("-", "_")
    header = f"# The interface of TavernKit in {LANGUAGES[language or ENGLISH]}."
    return Catalog(locale=locale, project="TavernKit", version="1", header_comment=header, fuzzy=False)


def catalogues() -> dict[str, Path]:
    """The catalogue of each language that is not the source's."""
    return {name: FOLDER / f"{name.replace('-', '_')}.po" for name in LANGUAGES if name != ENGLISH}


def read(file: Path, language: str | None = None) -> Catalog:
    with file.open("rb") as opened:
        return read_po(opened, locale=None if language is None else language.replace("-", "_"))


def written(catalogue: Catalog) -> bytes:
    buffer = io.BytesIO()
    write_po(buffer, catalogue, width=120, sort_by_file=True, ignore_obsolete=True, include_lineno=False)
    # Times would make every run a change, and addresses are for nobody.
    lines = [line for line in buffer.getvalue().splitlines(keepends=True) if not line.startswith(_LEFT_OUT)]
    return b"".join(lines)


_LEFT_OUT = tuple(
    f'"{name}'.encode()
    for name in (
        "POT-Creation-Date",
        "PO-Revision-Date",
        "Last-Translator",
        "Language-Team",
        "Report-Msgid",
        "Generated-By",
    )
)


def update() -> None:
    source = source_catalogue()
    POT.write_bytes(written(source))
    for language, file in catalogues().items():
        catalogue = read(file, language) if file.exists() else new_catalogue(language)
        catalogue.update(source, no_fuzzy_matching=True)
        file.write_bytes(written(catalogue))
        print(f"{file.name}: {len(catalogue)} sentences, {sum(1 for _ in holes(catalogue))} to be translated")


def problems() -> Iterator[str]:
    """What keeps the catalogues from being whole: a sentence for each."""
    source = source_catalogue()
    if not POT.exists() or POT.read_bytes() != written(source):
        yield "messages.pot is not up to date. Run `make translations`."
    for language, file in catalogues().items():
        catalogue = read(file, language)
        for message in source:
            if message.id and message.id not in catalogue:
                yield f"{file.name} does not have {message.id!r}. Run `make translations`."
        yield from (f"{file.name}: {message.id!r} is not translated." for message in holes(catalogue))
        for message in catalogue:
            yield from (f"{file.name}: {problem}" for problem in _differing_places(message))


def holes(catalogue: Catalog) -> Iterator[Message]:
    """The sentences of a catalogue that lack a form."""
    for message in catalogue:
        if message.id:
            forms = forms_of(message)
            needed = 1 if isinstance(message.id, str) else catalogue.num_plurals
            if message.fuzzy or len(forms) < needed or not all(forms):
                yield message


def _differing_places(message: Message) -> Iterator[str]:
    ids = (message.id,) if isinstance(message.id, str) else message.id
    allowed = {name for text in ids for name in _PLACE.findall(text)}
    needed = set.intersection(*(set(_PLACE.findall(text)) for text in ids)) - {"count"}
    for form in forms_of(message):
        places = set(_PLACE.findall(form))
        if message.id and form and not needed <= places <= allowed:
            yield f"{form!r} has other places than {message.id!r}."


def main() -> int:
    parser = argparse.ArgumentParser(description="Keep the catalogues of the interface in step with the source.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a sentence is not translated")
    if not parser.parse_args().check:
        update()
        return 0
    found = list(problems())
    print("\n".join(found) or "Every sentence is translated.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
