"""`tavernkit build --platform risuai`: RisuAI's files in, the request it would send out."""

from __future__ import annotations

from datetime import UTC, datetime

from tavernkit import dialects, risuai
from tavernkit.characters import Character
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.build_result import BuiltRequest
from tavernkit.cli.build_risuai_files import RisuFound, read_risu_files, read_toggles
from tavernkit.errors import StrictModeError
from tavernkit.prompt.build import BuildInputs
from tavernkit.risuai import RisuSettings, Story
from tavernkit.risuai.errors import CBSError, DecoratorParseError, TriggerError


def build_risuai(options: BuildOptions) -> BuiltRequest:
    """Read the files and build the request."""
    found = read_risu_files(options)
    settings = _with_budget(found.settings, options)
    dialect = options.dialect or settings.dialect
    dialects.get(dialect)
    story = Story(
        character=found.character,
        modules=found.modules,
        toggles=read_toggles(options.toggle or ()),
        greeting=_greeting(options.greeting, found),
        note=options.note or "",
        chat_id="" if options.history is None else options.history.stem,
    )
    inputs = BuildInputs(
        character=Character(name=found.character.name),
        user=found.user,
        history=found.messages,
        message=options.message,
        preset=settings,
        books=found.books,
        generation_type=options.generation_type,
        model=options.model,
        clock=lambda: datetime.now(UTC).astimezone(),
        strict=options.strict,
    )
    try:
        built = risuai.build(story=story, trace=options.trace, **inputs)
    except (CBSError, DecoratorParseError, TriggerError) as error:
        # Only a strict build minds these, and what a strict build minds is a failed check.
        raise StrictModeError(str(error)) from error
    return BuiltRequest(
        plan=built.plan,
        dialect=dialect,
        model=options.model or settings.model,
        completion="chat",
        generation_type=options.generation_type,
        messages=found.messages,
        notes=found.notes,
    )


def _with_budget(settings: RisuSettings, options: BuildOptions) -> RisuSettings:
    given = {"max_context": options.context, "max_response": options.reserve}
    return settings.with_(**{name: tokens for name, tokens in given.items() if tokens is not None})


def _greeting(wanted: int | None, found: RisuFound) -> int | None:
    """The greeting as RisuAI counts: -1 is the first message. A chat that begins with one needs none."""
    if wanted is not None:
        return wanted - 1
    return None if found.has_greeting else -1
