"""`tavernkit build` for SillyTavern: its files in, the request it would send out."""

from __future__ import annotations

from tavernkit import dialects, sillytavern
from tavernkit.cli.build_files import read_files
from tavernkit.cli.build_options import BuildOptions
from tavernkit.cli.build_report import BuiltRequest
from tavernkit.cli.errors import FileError, UsageError
from tavernkit.errors import StrictModeError
from tavernkit.prompt.build import BuildInputs
from tavernkit.prompt.plan import Plan
from tavernkit.sillytavern import AuthorsNote, QuietPrompt, Story
from tavernkit.sillytavern.chat_completion.request import chosen_model
from tavernkit.sillytavern.chat_completion.scene import chosen_dialect
from tavernkit.sillytavern.errors import InvalidContextTemplateError, MacroError
from tavernkit.sillytavern.presets import ChatPreset, TextPreset


def build_sillytavern(options: BuildOptions) -> BuiltRequest:
    """Read the files and build the request."""
    if options.quiet_prompt is not None and options.generation_type != "quiet":
        raise UsageError("--quiet-prompt is the instruction of a quiet generation; say --type quiet as well.")
    found = read_files(options)
    used = _with_budget(found.preset, options.context, options.reserve)
    story = found.story.with_(
        note=_note(found.story.note, options),
        quiet=None if options.quiet_prompt is None else QuietPrompt(text=options.quiet_prompt),
    )
    model = options.model or _model(used)
    dialect = _dialect(options.dialect, used)
    plan = _build(
        story,
        BuildInputs(
            character=found.character,
            user=found.user,
            history=found.messages,
            message=options.message,
            preset=used,
            books=found.books,
            generation_type=options.generation_type,
            model=model,
            variables=found.variables,
            strict=options.strict,
        ),
        context_file=found.context_file,
        trace=options.trace,
    )
    return BuiltRequest(
        plan=plan,
        dialect=dialect,
        model=model,
        completion="chat" if isinstance(used, ChatPreset) else "text",
        generation_type=options.generation_type,
        messages=found.messages,
        notes=found.notes,
    )


def _with_budget(preset: ChatPreset | TextPreset, context: int | None, reserve: int | None) -> ChatPreset | TextPreset:
    if isinstance(preset, ChatPreset):
        given = {"openai_max_context": context, "openai_max_tokens": reserve}
    else:
        given = {"max_length": context, "genamt": reserve}
    return preset.with_(**{name: tokens for name, tokens in given.items() if tokens is not None})


def _note(written: AuthorsNote, options: BuildOptions) -> AuthorsNote:
    """The note of the chat, with what the options say about it."""
    given = {
        "text": options.note,
        "position": options.note_position,
        "depth": options.note_depth,
        "role": options.note_role,
        "interval": options.note_interval,
    }
    return written.with_(**{name: value for name, value in given.items() if value is not None})


def _model(preset: ChatPreset | TextPreset) -> str | None:
    return (chosen_model(preset) or None) if isinstance(preset, ChatPreset) else None


def _dialect(wanted: str | None, preset: ChatPreset | TextPreset) -> str:
    if isinstance(preset, ChatPreset):
        chosen = wanted or chosen_dialect(preset)
    elif wanted in (None, "text"):
        chosen = "text"
    else:
        raise UsageError(
            f"A text completion is one text, which {wanted} has no form for; leave out --dialect, or name a"
            " chat-completion preset."
        )
    dialects.get(chosen)
    return chosen


def _build(story: Story, inputs: BuildInputs, *, context_file: str, trace: bool) -> Plan:
    try:
        return sillytavern.build(story=story, trace=trace, **inputs).plan
    except MacroError as error:
        # Only a strict build minds a macro, and what a strict build minds is a failed check.
        raise StrictModeError(str(error)) from error
    except InvalidContextTemplateError as error:
        raise FileError(context_file, error) from error
