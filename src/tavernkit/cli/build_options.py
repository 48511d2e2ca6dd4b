"""The options of `tavernkit build`, as one value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from tavernkit.cli.errors import UsageError
from tavernkit.cli.files import is_standard
from tavernkit.cli.output import JsonOption
from tavernkit.cli.tokens import ModelOption

Options = TypeVar("Options")


class Platform(StrEnum):
    """Whose prompt is built."""

    sillytavern = "sillytavern"
    risuai = "risuai"


class GenerationChoice(StrEnum):
    """What is asked of the model."""

    normal = "normal"
    continue_ = "continue"
    impersonate = "impersonate"
    swipe = "swipe"
    regenerate = "regenerate"
    quiet = "quiet"


class NotePosition(StrEnum):
    """Where the author's note stands: in the chat, or before or after the main prompt."""

    chat = "chat"
    before = "before"
    after = "after"


class NoteRoleChoice(StrEnum):
    """Whose words the author's note is."""

    system = "system"
    user = "user"
    assistant = "assistant"


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """What was said on the command line; None is as the files have it."""

    cards: Annotated[
        list[Path] | None, typer.Argument(metavar="[CARD]...", show_default=False, help="The same as --card.")
    ] = None
    platform: Annotated[Platform, typer.Option("--platform", help="The application whose request is built.")] = (
        Platform.sillytavern
    )
    card: Annotated[
        list[Path] | None,
        typer.Option(
            "--card", metavar="FILE", help="The character's card; several make a group. Without one, an example."
        ),
    ] = None
    speaker: Annotated[
        str | None, typer.Option("--speaker", metavar="NAME", help="Who of a group speaks; else the first card.")
    ] = None
    group: Annotated[Path | None, typer.Option("--group", metavar="FILE", help="SillyTavern's file of the group.")] = (
        None
    )
    preset: Annotated[
        list[Path] | None,
        typer.Option("--preset", metavar="FILE", help="A preset, a template or a master export; may be repeated."),
    ] = None
    instruct: Annotated[
        Path | None, typer.Option("--instruct", metavar="FILE", help="An instruct template, for text completion.")
    ] = None
    context_template: Annotated[
        Path | None, typer.Option("--context-template", metavar="FILE", help="A context template, likewise.")
    ] = None
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="SillyTavern's settings.json, or its power_user.")
    ] = None
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="The chat: SillyTavern's, another application's, a JSON list."),
    ] = None
    message: Annotated[str, typer.Option("--message", metavar="TEXT", help="What the user says next.")] = ""
    lore: Annotated[
        list[Path] | None,
        typer.Option("--lore", metavar="FILE", help="A lorebook to use beside the card's own; may be repeated."),
    ] = None
    module: Annotated[
        list[Path] | None,
        typer.Option("--module", metavar="FILE", help="A RisuAI module that is switched on; may be repeated."),
    ] = None
    toggle: Annotated[
        list[str] | None,
        typer.Option("--toggle", metavar="NAME[=VALUE]", help="A switch of RisuAI's; may be repeated."),
    ] = None
    greeting: Annotated[
        int | None,
        typer.Option("--greeting", metavar="N", min=0, help="RisuAI's greeting: 0 is the first message."),
    ] = None
    regex: Annotated[
        list[Path] | None,
        typer.Option("--regex", metavar="FILE", help="Regex scripts to run beside the card's and the preset's."),
    ] = None
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="The name of the user.")] = None
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="TEXT|FILE", help="Who the user is: a text, or a file with it.")
    ] = None
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="The author's note.")] = None
    note_position: Annotated[
        NotePosition | None, typer.Option("--note-position", help="In the chat, before or after the main prompt.")
    ] = None
    note_depth: Annotated[
        int | None, typer.Option("--note-depth", metavar="N", min=0, help="How many messages stand behind the note.")
    ] = None
    note_role: Annotated[NoteRoleChoice | None, typer.Option("--note-role", help="Whose words the note is.")] = None
    note_interval: Annotated[
        int | None,
        typer.Option("--note-interval", metavar="N", min=0, help="Every how many user messages; 0 is never."),
    ] = None
    type_: Annotated[GenerationChoice, typer.Option("--type", help="What is asked for.")] = GenerationChoice.normal
    quiet_prompt: Annotated[
        str | None, typer.Option("--quiet-prompt", metavar="TEXT", help="The instruction of a quiet generation.")
    ] = None
    dialect: Annotated[
        str | None, typer.Option("--dialect", metavar="NAME", help="The provider's format; else the preset's.")
    ] = None
    model: ModelOption = None
    context: Annotated[
        int | None, typer.Option("--context", metavar="N", min=1, help="The window in tokens; else the preset's.")
    ] = None
    reserve: Annotated[
        int | None, typer.Option("--reserve", metavar="N", min=0, help="Tokens for the reply; else the preset's.")
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each block with its source and size, and what was left out and why.")
    ] = False
    trace: Annotated[bool, typer.Option("--trace", help="Show how long each stage took.")] = False
    strict: Annotated[bool, typer.Option("--strict", help="Fail where there would be a warning.")] = False
    as_json: JsonOption = False

    @property
    def all_cards(self) -> tuple[Path, ...]:
        return (*(self.cards or ()), *(self.card or ()))

    @property
    def generation_type(self) -> str:
        return self.type_.value

    def check_files(self) -> None:
        """Raise UsageError where two files are to be read from standard input."""
        if sum(map(is_standard, self._files())) + (self.persona == "-") > 1:
            raise UsageError("Standard input can be read once; name files for the others.")

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
