"""`tavernkit what-if`: what the prompts of the last turns would have been with something changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from uuid import UUID

import typer

from tavernkit.cli.application import application, with_runtime
from tavernkit.cli.errors import UsageError, about
from tavernkit.cli.files import ForceOption, check_free, read_input, write_output
from tavernkit.cli.output import JsonOption, Printer, present
from tavernkit.errors import TavernKitError
from tavernkit.values import Json

if TYPE_CHECKING:
    from tavernkit.cli.build_sillytavern import PreparedBuild
    from tavernkit.playground.base.runtime import Runtime
    from tavernkit.playground.story.replaying.changes import WhatIf
    from tavernkit.prompt.build import BuildInputs
    from tavernkit.prompt.what_if import ActiveEntry, MeasuredPrompt, TriedTurn, WhatIfReport

MOST_TURNS = 200
_NOW = datetime.now(UTC)

Files = list[Path] | None


def try_change(
    conversation: Annotated[
        str, typer.Argument(metavar="CONVERSATION|CHAT", help="The id of a conversation, or a chat file.")
    ],
    last: Annotated[int, typer.Option(min=1, max=MOST_TURNS, help="How many replies, the last ones.")] = 20,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="SETTING=VALUE", help="Another setting; may be repeated.")
    ] = None,
    preset: Annotated[Path | None, typer.Option(metavar="FILE", help="Another preset.")] = None,
    lorebook: Annotated[
        Files, typer.Option(metavar="FILE", help="A lorebook in place of the one with its name; may be repeated.")
    ] = None,
    card: Annotated[Path | None, typer.Option(metavar="FILE", help="Another card for the speaker.")] = None,
    off: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME",
            help="Leave out prompt:IDENTIFIER, entry:BOOK/ID, field:NAME or block:SLOT; may be repeated.",
        ),
    ] = None,
    base_card: Annotated[Path | None, typer.Option(metavar="FILE", help="With a chat file: its card.")] = None,
    base_preset: Annotated[Path | None, typer.Option(metavar="FILE", help="With a chat file: its preset.")] = None,
    base_lore: Annotated[
        Files, typer.Option(metavar="FILE", help="With a chat file: a lorebook of it; may be repeated.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report as one HTML file.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build the prompts of the last turns twice, as they were and with something changed, and compare them.

    Entries gained and lost, tokens, what is evicted, the share that a provider could reuse, and cost. A conversation is
    read from the database of `tavernkit serve`; no model is asked, and nothing is written there.
    """
    if html is not None:
        check_free([html], force=force)
    conversation_id = _id(conversation)
    if conversation_id is None:
        if off:
            raise UsageError("--off needs a conversation of the application.")
        bases = _Bases(Path(conversation), base_card, base_preset, tuple(base_lore or ()))
        report = _on_files(bases, last, _settings(settings or ()), preset, tuple(lorebook or ()), card)
    else:
        if base_card or base_preset or base_lore:
            raise UsageError("--base-card, --base-preset and --base-lore are for chat files.")
        change: dict[str, Json] = {
            "settings": _settings(settings or ()),
            "preset": None if preset is None else _json(preset),
            "lorebooks": [_named(_json(file), file) for file in lorebook or ()],
            "card": None if card is None else _card(card),
            **_off(off or ()),
        }
        report = _on_database(conversation_id, last, change)
    if html is not None:
        from tavernkit.cli.what_if_page import page

        write_output(html, page(report), force=force)
        if not as_json:
            return
    present(report, lambda printer: _show(printer, report), as_json=as_json)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _settings(given: Sequence[str]) -> dict[str, dict[str, Json]]:
    from tavernkit.prompt.what_if import read_settings

    try:
        return read_settings(given)
    except ValueError as error:
        raise UsageError(f"--set takes group.name=value, such as world_info.depth=5, not {error}.") from None


def _off(given: Sequence[str]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for one in given:
        kind, _colon, name = one.partition(":")
        match kind:
            case "prompt" | "block" if name:
                found.setdefault(f"{kind}s_off", []).append(name)
            case "field" if name:
                found.setdefault("card_fields_off", []).append(name)
            case "entry" if "/" in name:
                book, _slash, entry = name.rpartition("/")
                found.setdefault("entries_off", []).append({"book": book, "entry": entry})
            case _:
                raise UsageError(f"--off takes prompt:…, entry:BOOK/ID, field:… or block:…, not {one!r}.")
    return found


def _json(file: Path) -> Any:
    with about(file):
        data = read_input(file)
    try:
        return json.loads(data)
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}.") from error


def _named(book: Any, file: Path) -> Any:
    """A lorebook of SillyTavern has the name of its file."""
    return {"name": file.stem, **book} if isinstance(book, dict) and not book.get("name") else book


def _card(file: Path) -> Any:
    from tavernkit import characters
    from tavernkit.characters.encode import write_card

    with about(file):
        return write_card(characters.read_card(read_input(file))[0])


def _on_database(conversation_id: UUID, last: int, change: dict[str, Json]) -> WhatIfReport:
    with application():
        from pydantic import ValidationError

        from tavernkit.playground.story.replaying.changes import WhatIf

        try:
            tried = WhatIf.model_validate_json(json.dumps(change))
        except ValidationError as error:
            raise UsageError(f"This cannot be tried: {error.errors()[0]['msg']}.") from None
        return with_runtime(lambda runtime: _what_if(runtime, conversation_id, tried, last))


async def _what_if(runtime: Runtime, conversation_id: UUID, change: WhatIf, last: int) -> WhatIfReport:
    from tavernkit.playground.story.replaying.what_if import owner_of_conversation, what_if

    owner = await owner_of_conversation(runtime, conversation_id)
    return await what_if(runtime, owner, conversation_id, change, last=last)


class _Bases(NamedTuple):
    """A chat file, and what it is played with."""

    chat: Path
    card: Path | None
    preset: Path | None
    lore: tuple[Path, ...]


def _on_files(
    bases: _Bases,
    last: int,
    settings: dict[str, dict[str, Json]],
    preset: Path | None,
    lore: tuple[Path, ...],
    card: Path | None,
) -> WhatIfReport:
    """Play the last turns of a chat file twice. How long lore stays or rests is known from the first of them on."""
    from tavernkit.cli.build_options import BuildOptions
    from tavernkit.cli.build_sillytavern import prepare_sillytavern
    from tavernkit.prompt.what_if import what_if_report

    base = BuildOptions(
        card=[bases.card] if bases.card else None,
        preset=[bases.preset] if bases.preset else None,
        lore=list(bases.lore),
        history=bases.chat,
    )
    names = {file.stem for file in lore}
    tried = replace(
        base,
        card=[card] if card else base.card,
        preset=[preset] if preset else base.preset,
        lore=[*lore, *(file for file in bases.lore if file.stem not in names)],
    )
    before = prepare_sillytavern(base)
    after = _with_settings(prepare_sillytavern(tried), settings)
    messages = before.chat.messages
    replies = [place for place, message in enumerate(messages) if place and message.role == "assistant"][-last:]
    return what_if_report(list(_turns(before, after, replies)))


def _with_settings(prepared: PreparedBuild, settings: dict[str, dict[str, Json]]) -> PreparedBuild:
    import msgspec

    world_info = msgspec.to_builtins(prepared.story.world_info)
    for group, values in settings.items():
        for name, value in values.items():
            if group != "world_info" or name not in world_info:
                known = ", ".join(f"world_info.{one}" for one in world_info)
                raise UsageError(f"A chat file has no setting {group}.{name}. Settings: {known}.")
            world_info[name] = value
    try:
        changed = msgspec.convert(world_info, type(prepared.story.world_info))
    except msgspec.ValidationError as error:
        raise UsageError(f"A setting cannot be that: {error}.") from None
    return prepared._replace(story=prepared.story.with_(world_info=changed))


def _turns(before: PreparedBuild, after: PreparedBuild, replies: Sequence[int]) -> Iterator[TriedTurn]:
    from tavernkit.prompt.what_if import TriedTurn, turn_change

    old: MeasuredPrompt | None = None
    new: MeasuredPrompt | None = None
    for place in replies:
        try:
            old, new = _turn(before, place, old), _turn(after, place, new)
        except TavernKitError as error:
            yield TriedTurn(number=place, error=str(error))
            continue
        yield TriedTurn(number=place, change=turn_change(old, new))


def _turn(prepared: PreparedBuild, place: int, previous: MeasuredPrompt | None) -> MeasuredPrompt:
    """The prompt for the message at this place of the chat."""
    from tavernkit.cli.build_sillytavern import build_prepared
    from tavernkit.prompt.tokens import default_estimator
    from tavernkit.prompt.what_if import measured

    timed = None if previous is None else previous.built.result.timed
    story = prepared.story if timed is None else prepared.story.with_(timed=timed)
    # Chance and time are the same in both prompts of a turn.
    inputs: BuildInputs = {
        **prepared.inputs,
        "history": prepared.chat.messages[:place],
        "message": "",
        "keep_user_message": True,
        "rng": random.Random(place),  # noqa: S311 - chance in a story, not a secret
        "clock": lambda: _NOW,
    }
    if previous is not None:
        inputs["variables"] = previous.built.result.variables_store()
    built = build_prepared(prepared._replace(story=story, inputs=inputs))
    return measured(
        built,
        estimator=default_estimator(),
        model=prepared.inputs["model"],
        previous=None if previous is None else previous.built,
    )


def _show(printer: Printer, report: WhatIfReport) -> None:
    printer.table(COLUMNS, map(cells, report.turns))
    printer.line()
    old, new = report.before, report.after
    printer.table(
        ("total", "before", "after"),
        [
            ("tokens", old.tokens, new.tokens),
            ("evicted", old.evictions, new.evictions),
            ("reuse", percent(old.reuse), percent(new.reuse)),
            ("cost", dollars(old.cost), dollars(new.cost)),
        ],
    )
    printer.line(f"{report.changed} of {len(report.turns)} prompts change.")
    printer.line(f"{report.gained} entries gained, {report.lost} lost.")
    if report.unkept:
        printer.line(f"{report.unkept} turns cannot be built again: nothing was kept of them.")


COLUMNS = ("message", "tokens", "then", "evicted", "then", "reuse", "then", "cost", "then", "gained", "lost")


def cells(turn: TriedTurn) -> tuple[str, ...]:
    """A turn as a row."""
    change = turn.change
    if change is None:
        return (str(turn.number), turn.error or "", *[""] * (len(COLUMNS) - 2))
    old, new = change.before, change.after
    figures = [
        *(f"{old.tokens:,}", f"{new.tokens:,}", str(old.evictions), str(new.evictions)),
        *(percent(old.reuse), percent(new.reuse), dollars(old.cost), dollars(new.cost)),
    ]
    return (str(turn.number), *figures, entries(change.gained), entries(change.lost))


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def dollars(cost: float | None) -> str:
    return "" if cost is None else f"${cost:.4f}"


def entries(these: Sequence[ActiveEntry]) -> str:
    return ", ".join(one.name or one.entry for one in these)
