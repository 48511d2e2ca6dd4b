"""The options of `tavernkit build`, as one value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

import typer

from tavernkit.cli.errors import UsageError
from tavernkit.cli.files import is_standard
from tavernkit.cli.output import JsonOption
from tavernkit.cli.tokens import ModelOption

Options = TypeVar("Options")

file_option, number_option, text_option, name_option = (
    partial(typer.Option, metavar=kind) for kind in ("FILE", "N", "TEXT", "NAME")
)


Platform: TypeAlias = Literal["sillytavern", "risuai"]
GenerationChoice: TypeAlias = Literal["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"]
NotePosition: TypeAlias = Literal["chat", "before", "after"]
NoteRole: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """What was said on the command line; None is as the files have it."""

    cards: Annotated[
        list[Path] | None, typer.Argument(metavar="[CARD]...", show_default=False, help="The same as --card.")
    ] = None
    platform: Annotated[Platform, typer.Option(help="The application whose request is built.")] = "sillytavern"
    card: Annotated[
        list[Path] | None, file_option(help="A character card; several make a group. Default: an example.")
    ] = None
    speaker: Annotated[str | None, name_option(help="The speaker of a group. Default: the first card.")] = None
    group: Annotated[Path | None, file_option(help="SillyTavern's group file.")] = None
    preset: Annotated[
        list[Path] | None, file_option(help="A preset, a template or a master export; may be repeated.")
    ] = None
    instruct: Annotated[Path | None, file_option(help="An instruct template, for text completion.")] = None
    context_template: Annotated[Path | None, file_option(help="A context template, for text completion.")] = None
    settings: Annotated[Path | None, file_option(help="SillyTavern's settings.json, or its power_user.")] = None
    history: Annotated[Path | None, file_option(help="A chat file of any application, or a JSON list of messages.")] = (
        None
    )
    message: Annotated[str, text_option(help="The user's next message.")] = ""
    lore: Annotated[list[Path] | None, file_option(help="A further lorebook; may be repeated.")] = None
    module: Annotated[list[Path] | None, file_option(help="A RisuAI module to enable; may be repeated.")] = None
    toggle: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="A RisuAI toggle; may be repeated.")
    ] = None
    greeting: Annotated[int | None, number_option(min=0, help="RisuAI's greeting: 0 is the first message.")] = None
    regex: Annotated[list[Path] | None, file_option(help="A file of further regex scripts; may be repeated.")] = None
    user: Annotated[str | None, name_option(help="The name of the user.")] = None
    persona: Annotated[
        str | None, typer.Option(metavar="TEXT|FILE", help="The persona description: a text, or a file.")
    ] = None
    note: Annotated[str | None, text_option(help="The author's note.")] = None
    note_position: Annotated[
        NotePosition | None, typer.Option(help="In the chat, before or after the main prompt.")
    ] = None
    note_depth: Annotated[int | None, number_option(min=0, help="The depth of the note, in messages from the end.")] = (
        None
    )
    note_role: Annotated[NoteRole | None, typer.Option(help="The role of the note.")] = None
    note_interval: Annotated[
        int | None, number_option(min=0, help="Insert the note every N user messages; 0: never.")
    ] = None
    generation_type: Annotated[GenerationChoice, typer.Option("--type", help="The generation type.")] = "normal"
    quiet_prompt: Annotated[str | None, text_option(help="The instruction of a quiet generation.")] = None
    dialect: Annotated[str | None, name_option(help="The provider's format. Default: the preset's.")] = None
    model: ModelOption = None
    context: Annotated[int | None, number_option(min=1, help="The context size in tokens. Default: the preset's.")] = (
        None
    )
    reserve: Annotated[
        int | None, number_option(min=0, help="The response length in tokens. Default: the preset's.")
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each block with source and tokens, and what was left out and why.")
    ] = False
    trace: Annotated[bool, typer.Option("--trace", help="Show how long each stage took.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Fail instead of warning.")] = False
    as_json: JsonOption = False

    @property
    def is_traced(self) -> bool:
        """Whether the build is to say how it came to its prompt."""
        return self.trace

    @property
    def all_cards(self) -> tuple[Path, ...]:
        return (*(self.cards or ()), *(self.card or ()))

    def check_files(self) -> None:
        """Raise UsageError where two files are to be read from standard input."""
        if sum(map(is_standard, self._files())) + (self.persona == "-") > 1:
            raise UsageError("Only one file can be - (standard input). Use file names for the others.")

    def _files(self) -> Iterator[Path]:
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            yield from (file for file in (given if isinstance(given, list) else [given]) if isinstance(file, Path))


def command_of(run: Callable[[Options], None], kind: type[Options]) -> Callable[..., None]:
    """A command with one parameter for each field of a dataclass, which `run` is given whole."""

    def command(**given: Any) -> None:
        run(kind(**given))

    hints = get_type_hints(kind, include_extras=True)
    command.__doc__, command.__annotations__ = run.__doc__, hints
    command.__dict__["__signature__"] = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(kind, name), annotation=hint)
            for name, hint in hints.items()
        ]
    )
    return command
