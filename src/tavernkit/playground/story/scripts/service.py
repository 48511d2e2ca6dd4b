"""What a person does with regex scripts, wherever they are kept: for all spaces, in a space, in a card, in a preset.

Each place keeps its scripts as the files of their platform have them. A script is named by its place in its list and by
a mark of what it says: who has seen another one is refused, unless it has only been moved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from uuid import UUID

from anyio import to_thread
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, Preset, ScriptList, User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.access.access import Access, may_edit, space_for
from tavernkit.playground.story.characters.queries import find_character
from tavernkit.playground.story.characters.service import edit_character
from tavernkit.playground.story.presets.documents import PatchPreset
from tavernkit.playground.story.presets.queries import preset_for
from tavernkit.playground.story.presets.service import update_preset
from tavernkit.playground.story.prompting.scripts import RISUAI, SILLYTAVERN
from tavernkit.playground.story.scripts.documents import (
    DISABLED,
    MAX_SCRIPT_CHARACTERS,
    MAX_SCRIPTS,
    Fields,
    Scope,
    ScriptHolder,
    ScriptKind,
    ScriptOut,
    mark_of,
)
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.sillytavern.regex_scripts.script import read_script
from tavernkit.values import Json, JsonObject, Value

MAX_FILE_BYTES = 4 * 1024 * 1024
_ATTEMPTS = 5

Change = Callable[[list[Fields]], list[Fields]]


class ChangedScript(Value, frozen=True, kw_only=True):
    """A script after a change; `holder_id` is another one where a shared preset was copied to be changed."""

    holder_id: UUID
    script: ScriptOut


async def read_holder(runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID) -> ScriptHolder:
    """The scripts of one place, for those who may see them."""
    async with runtime.database.read() as session:
        match scope:
            case "global":
                return await _personal(session, viewer, holder_id)
            case "space":
                return await _of_space(session, viewer, holder_id)
            case "character":
                return _of_character(await find_character(session, holder_id, viewer), viewer)
            case "preset":
                return _of_preset(await preset_for(session, viewer, holder_id))


async def script_at(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, place: int
) -> tuple[ScriptHolder, JsonObject]:
    """One script, and where it is."""
    holder = await read_holder(runtime, viewer, scope, holder_id)
    listed = holder.lists.get(kind, ())
    if not 0 <= place < len(listed):
        raise not_found(_("script"))
    return holder, listed[place]


async def add_scripts(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, scripts: Sequence[JsonObject]
) -> ChangedScript:
    """Put new scripts behind the others; the last of them is returned."""
    new = [completed(runtime, kind, script) for script in scripts]

    def change(listed: list[Fields]) -> list[Fields]:
        return [*listed, *new]

    holder_id, listed = await _change(runtime, viewer, scope, holder_id, kind, change)
    return ChangedScript(holder_id=holder_id, script=ScriptOut.of(kind, len(listed) - 1, listed[-1]))


async def change_script(
    runtime: Runtime,
    viewer: Viewer,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: int,
    *,
    mark: str,
    fields: JsonObject,
    to: int | None = None,
) -> ChangedScript:
    """Change fields of a script, or its place in the order."""
    at = 0

    def change(listed: list[Fields]) -> list[Fields]:
        nonlocal at
        place_now = _find(kind, listed, place, mark)
        script = listed.pop(place_now)
        if fields:
            script = _checked(kind, {**script, **presentable(dict(fields))}, changed=fields)
        at = place_now if to is None else min(to, len(listed))
        listed.insert(at, script)
        return listed

    holder_id, listed = await _change(runtime, viewer, scope, holder_id, kind, change)
    return ChangedScript(holder_id=holder_id, script=ScriptOut.of(kind, at, listed[at]))


async def move_script(
    runtime: Runtime,
    viewer: Viewer,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: int,
    *,
    mark: str,
    behind: int | None,
) -> ChangedScript:
    """Put a script behind the one at another place, or before all."""
    to = 0 if behind is None else behind + (0 if behind > place else 1)
    return await change_script(runtime, viewer, scope, holder_id, kind, place, mark=mark, fields={}, to=to)


async def switch_script(
    runtime: Runtime,
    viewer: Viewer,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: int,
    *,
    mark: str,
    enabled: bool,
) -> ChangedScript:
    """Switch a script of SillyTavern on or off; RisuAI's say so by their type."""
    if kind == "risuai":
        raise Refused("invalid", _("A RisuAI script is switched off by its type. Open it and choose another type."))
    fields: Fields = {DISABLED: not enabled}
    return await change_script(runtime, viewer, scope, holder_id, kind, place, mark=mark, fields=fields)


async def duplicate_script(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, place: int
) -> ChangedScript:
    """A copy behind all others."""
    _holder, script = await script_at(runtime, viewer, scope, holder_id, kind, place)
    return await add_scripts(runtime, viewer, scope, holder_id, kind, [_copied(script)])


async def delete_script(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, place: int, *, mark: str
) -> UUID:
    """Take a script out of its list; the answer is whose list that is now."""

    def change(listed: list[Fields]) -> list[Fields]:
        del listed[_find(kind, listed, place, mark)]
        return listed

    return (await _change(runtime, viewer, scope, holder_id, kind, change))[0]


async def copy_script(
    runtime: Runtime,
    viewer: Viewer,
    scope: Scope,
    holder_id: UUID,
    kind: ScriptKind,
    place: int,
    *,
    mark: str,
    to_scope: Scope,
    to_id: UUID,
    move: bool,
) -> ChangedScript:
    """Put a copy of a script into another place; to `move` it, it is deleted where it was, once it is there."""
    holder, script = await script_at(runtime, viewer, scope, holder_id, kind, place)
    if mark_of(script) != mark:
        raise stale(_("script"), ScriptOut.of(kind, place, script))
    if move and not holder.may_change:
        raise Refused("forbidden", _("You cannot change the scripts here. Copy the script instead."))
    made = await add_scripts(runtime, viewer, to_scope, to_id, kind, [script if move else _copied(script)])
    if move:
        await delete_script(runtime, viewer, scope, holder_id, kind, place, mark=mark)
    return made


async def import_scripts(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, file: bytes
) -> tuple[ChangedScript, int, ImportReport]:
    """The scripts of a file of SillyTavern or RisuAI: the last, how many there are, and what was wrong with them."""
    try:
        kind, scripts, report = await to_thread.run_sync(read_file, file)
    except TavernKitError as error:
        raise Refused("invalid", _("The file cannot be read: {reason}", reason=sentence_of(error))) from None
    made = await add_scripts(runtime, viewer, scope, holder_id, kind, scripts)
    return made, len(scripts), report


def read_file(file: bytes) -> tuple[ScriptKind, list[JsonObject], ImportReport]:
    """The scripts in a file, of which platform they are, and what of them makes no sense; raises what the library does.

    SillyTavern writes one script, or a list; RisuAI an object around the list.
    """
    document = parse_json(file, what="The file")
    report = ReportBuilder()
    kind: ScriptKind = "sillytavern"
    match document:
        case {"type": "regex", "data": list(listed)}:
            kind = "risuai"
        case list(listed):
            if any(isinstance(one, dict) and "in" in one and "out" in one for one in listed):
                kind = "risuai"
        case {"findRegex": _} | {"scriptName": _}:
            listed = [document]
        case {"regex_scripts": list(listed)}:
            pass
        case _:
            listed = []
    scripts = [one for one in listed if isinstance(one, dict)]
    if not scripts:
        raise Refused("invalid", _("The file has no regex scripts. Choose one that SillyTavern or RisuAI exported."))
    source = LooseObject({"scripts": scripts}, report)
    for one in source.objects("scripts"):
        _read(kind, one)
    return kind, list(scripts), report.build("regex_scripts")


def exported(kind: ScriptKind, scripts: Sequence[JsonObject], *, one: bool = False) -> Json:
    """A file of scripts that their platform reads."""
    if kind == "risuai":
        return {"type": "regex", "data": [dict(script) for script in scripts]}
    return dict(scripts[0]) if one else [dict(script) for script in scripts]


def _copied(script: JsonObject) -> Fields:
    """The script without what tells it from others."""
    return {key: value for key, value in script.items() if key != "id"}


def new_script(kind: ScriptKind) -> Fields:
    """What a script says before anybody has written anything."""
    if kind == "risuai":
        return {"comment": "", "in": "", "out": "", "type": "editdisplay", "ableFlag": False}
    return {
        "scriptName": "",
        "findRegex": "",
        "replaceString": "",
        "trimStrings": [],
        "placement": [2],
        "disabled": False,
        "markdownOnly": True,
        "promptOnly": False,
        "runOnEdit": True,
        "substituteRegex": 0,
        "minDepth": None,
        "maxDepth": None,
    }


def completed(runtime: Runtime, kind: ScriptKind, script: JsonObject) -> Fields:
    """A new script as it is stored, unless it is too long. SillyTavern's have an id each."""
    fields = presentable(dict(script))
    if kind == "sillytavern" and not fields.get("id"):
        fields = {"id": str(runtime.ids()), **fields}
    return _checked(kind, fields)


def _read(kind: ScriptKind, source: LooseObject) -> None:
    if kind == "sillytavern":
        read_script(source)
    else:
        RisuRegexScript.read(source)


def _checked(kind: ScriptKind, script: Fields, *, changed: JsonObject | None = None) -> Fields:
    """The script, unless it is too long, or a field that somebody has just written makes no sense."""
    size = len(json.dumps(script))
    if size > MAX_SCRIPT_CHARACTERS:
        limit = MAX_SCRIPT_CHARACTERS
        sentence = _("The script has {size} characters. The limit is {limit}. Shorten it.", size=size, limit=limit)
        raise Refused("too_long", sentence)
    report = ReportBuilder()
    _read(kind, LooseObject(script, report))
    for note in report.build("regex_script").ignored:
        field = note.path.split(".")[0].split("[")[0]
        if changed is not None and field in changed:
            raise Refused("invalid", _("The field {field} is not valid: {reason}.", field=field, reason=note.message))
    return script


def _find(kind: ScriptKind, listed: Sequence[Fields], place: int, mark: str) -> int:
    """Where the script is now that somebody has seen at that place."""
    if 0 <= place < len(listed) and mark_of(listed[place]) == mark:
        return place
    moved = [at for at, script in enumerate(listed) if mark_of(script) == mark]
    if len(moved) == 1:
        return moved[0]
    if not 0 <= place < len(listed):
        raise not_found(_("script"))
    raise stale(_("script"), ScriptOut.of(kind, place, listed[place]))


async def _change(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, change: Change
) -> tuple[UUID, list[Fields]]:
    """Write a list as it is to be. Cards and presets are written as whoever edits them does it, and tried again where
    somebody else was faster."""
    if scope in ("global", "space"):
        return holder_id, await _change_own(runtime, viewer, scope, holder_id, kind, change)
    for attempt in range(_ATTEMPTS):
        try:
            if scope == "character":
                return holder_id, await _change_card(runtime, viewer, holder_id, kind, change)
            return await _change_preset(runtime, viewer, holder_id, kind, change)
        except Refused as refused:
            is_of_script = isinstance(refused.current, dict) and "mark" in refused.current
            if refused.code != "stale" or is_of_script or attempt == _ATTEMPTS - 1:
                raise
    raise not_found(_("script"))


def _changed(listed: Json, change: Change) -> list[Fields]:
    """The list after a change; what is no script in it goes."""
    before = listed if isinstance(listed, list) else []
    after = change([dict(one) for one in before if isinstance(one, dict)])
    if len(after) > MAX_SCRIPTS:
        raise Refused(
            "conflict", _("There are too many scripts. The limit is {limit}. Delete some.", limit=MAX_SCRIPTS)
        )
    return after


async def _change_own(
    runtime: Runtime, viewer: Viewer, scope: Scope, holder_id: UUID, kind: ScriptKind, change: Change
) -> list[Fields]:
    async with runtime.database.write() as session:
        if scope == "space":
            await space_for(session, holder_id, viewer, Access.ADMINISTER, lock=True)
            owner = {"space_id": holder_id}
        else:
            _check_own(viewer, holder_id)
            await session.execute(select(User.id).where(User.id == holder_id).with_for_update(key_share=True))
            owner = {"owner_id": holder_id}
        return await change_list(session, runtime, owner, kind, change)


async def change_list(
    session: AsyncSession, runtime: Runtime, owner: dict[str, UUID], kind: ScriptKind, change: Change
) -> list[Fields]:
    """Write the list of a person or of a space, who must be locked, in this transaction."""
    row: ScriptList | None = await session.scalar(select(ScriptList).filter_by(**owner))
    now = runtime.clock()
    if row is None:
        row = ScriptList(id=runtime.ids(), data={}, settings_version=0, created_at=now, **owner)
        session.add(row)
    listed = _changed(row.data.get(kind), change)
    row.data = {**row.data, kind: listed}
    row.settings_version += 1
    row.updated_at = now
    return listed


async def _change_card(
    runtime: Runtime, viewer: Viewer, character_id: UUID, kind: ScriptKind, change: Change
) -> list[Fields]:
    async with runtime.database.read() as session:
        row = await find_character(session, character_id, viewer)
    extensions = _object(row.data["data"].get("extensions"))
    if kind == "sillytavern":
        listed = _changed(extensions.get("regex_scripts"), change)
        extensions["regex_scripts"] = listed
    else:
        own = _object(extensions.get("risuai"))
        listed = _changed(own.get("customScripts"), change)
        extensions["risuai"] = {**own, "customScripts": listed}
    await edit_character(runtime, viewer, character_id, version=row.version, fields={"extensions": extensions})
    return listed


async def _change_preset(
    runtime: Runtime, viewer: Viewer, preset_id: UUID, kind: ScriptKind, change: Change
) -> tuple[UUID, list[Fields]]:
    async with runtime.database.read() as session:
        row = await preset_for(session, viewer, preset_id)
    if kind not in _of_preset(row).lists:
        raise Refused("invalid", _("This preset cannot have such scripts. Choose another one."))
    key = _risuai_key(row)
    if kind == "risuai":
        listed = _changed(row.data.get(key), change)
        data: Fields = {key: listed}
    else:
        part = _object(row.data.get("preset")) if row.kind == "master" else row.data
        extensions = _object(part.get("extensions"))
        listed = _changed(extensions.get("regex_scripts"), change)
        data = {"extensions": {**extensions, "regex_scripts": listed}}
        if row.kind == "master":
            data = {"preset": {**part, **data}}
    patch = PatchPreset.model_validate({"settings_version": row.settings_version, "data": data})
    return (await update_preset(runtime, viewer, preset_id, patch)).id, listed


def _risuai_key(row: Preset) -> str:
    """Settings and presets of RisuAI name their scripts differently."""
    return "presetRegex" if row.kind == "risuai" and isinstance(row.data.get("presetRegex"), list) else "regex"


def _check_own(viewer: Viewer, user_id: UUID) -> None:
    if user_id != viewer.user_id:
        raise not_found(_("account"))


async def _personal(session: AsyncSession, viewer: Viewer, user_id: UUID) -> ScriptHolder:
    _check_own(viewer, user_id)
    row: ScriptList | None = await session.scalar(select(ScriptList).where(ScriptList.owner_id == user_id))
    return ScriptHolder(scope="global", id=user_id, name="", lists=_own_lists(row))


async def _of_space(session: AsyncSession, viewer: Viewer, space_id: UUID) -> ScriptHolder:
    access = await space_for(session, space_id, viewer, Access.ADMINISTER, even_archived=True)
    row: ScriptList | None = await session.scalar(select(ScriptList).where(ScriptList.space_id == space_id))
    is_active = access.space.status == "active"
    return ScriptHolder(scope="space", id=space_id, name=access.space.name, lists=_own_lists(row), may_change=is_active)


def _own_lists(row: ScriptList | None) -> dict[ScriptKind, tuple[JsonObject, ...]]:
    data: JsonObject = {} if row is None else row.data
    return {"sillytavern": _listed(data.get(SILLYTAVERN)), "risuai": _listed(data.get(RISUAI))}


def _of_character(row: Character, viewer: Viewer) -> ScriptHolder:
    extensions = _object(row.data["data"].get("extensions"))
    return ScriptHolder(
        scope="character",
        id=row.id,
        name=row.name,
        lists={
            "sillytavern": _listed(extensions.get("regex_scripts")),
            "risuai": _listed(_object(extensions.get("risuai")).get("customScripts")),
        },
        may_change=may_edit(row, viewer),
    )


def _of_preset(row: Preset) -> ScriptHolder:
    """The scripts of a preset; a template has none."""
    lists: dict[ScriptKind, tuple[JsonObject, ...]] = {}
    if row.kind in ("chat", "text", "master"):
        part = _object(row.data.get("preset")) if row.kind == "master" else row.data
        lists["sillytavern"] = _listed(_object(part.get("extensions")).get("regex_scripts"))
    elif row.kind in ("risuai", "module"):
        lists["risuai"] = _listed(row.data.get(_risuai_key(row)))
    return ScriptHolder(scope="preset", id=row.id, name=row.name, lists=lists)


def _listed(value: Json) -> tuple[JsonObject, ...]:
    return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _object(value: Json) -> Fields:
    return dict(value) if isinstance(value, dict) else {}
