"""Regex scripts over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from tavernkit.playground.edge.api.files import json_download, upload
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.playground.story.scripts import service
from tavernkit.playground.story.scripts.documents import (
    MAX_SCRIPTS,
    CopyScript,
    NewScript,
    PatchScript,
    Scope,
    ScriptKind,
    ScriptListOut,
    ScriptOut,
    ScriptTrialOut,
    TryScript,
)
from tavernkit.playground.story.scripts.service import ChangedScript
from tavernkit.playground.story.scripts.trial import try_script

HolderId = Annotated[UUID, Path(description="Your account, the space, the character or the preset.")]
Place = Annotated[int, Path(ge=0, lt=MAX_SCRIPTS, description="The place in its list, from 0.")]


class ChangedScriptOut(BaseModel):
    """A script as it is now. Of a preset that is everybody's, a copy of yours was changed: `holder_id` names it."""

    holder_id: UUID
    script: ScriptOut


class ScriptsImported(BaseModel):
    """What was imported: the last script, and how many there are."""

    holder_id: UUID
    count: int
    script: ScriptOut
    notes: list[NoteOut]


def _out(changed: ChangedScript) -> ChangedScriptOut:
    return ChangedScriptOut(holder_id=changed.holder_id, script=changed.script)


router = APIRouter(prefix="/scripts", tags=["scripts"])


@router.get("", responses=documented())
async def list_own(caller: ApiCaller) -> ScriptListOut:
    """Your scripts for all spaces."""
    return ScriptListOut.of(await service.read_holder(*caller, "global", caller.viewer.user_id))


@router.post("/test", responses=documented())
async def test_script(caller: ApiCaller, wanted: TryScript) -> ScriptTrialOut:
    """What a script makes of a text, or of a message of a conversation; nothing is changed."""
    return await try_script(*caller, wanted)


@router.get("/{scope}/{holder_id}", responses=documented())
async def list_scripts(caller: ApiCaller, scope: Scope, holder_id: HolderId) -> ScriptListOut:
    """The scripts of one place, in the order in which they run."""
    return ScriptListOut.of(await service.read_holder(*caller, scope, holder_id))


@router.post("/{scope}/{holder_id}", status_code=201, responses=documented(409))
async def add_script(caller: ApiCaller, scope: Scope, holder_id: HolderId, new: NewScript) -> ChangedScriptOut:
    """Put a script behind the others."""
    data = {**service.new_script(new.kind), **new.data}
    return _out(await service.add_scripts(*caller, scope, holder_id, new.kind, [data]))


@router.post("/{scope}/{holder_id}/import", status_code=201, responses=documented(409, 413), openapi_extra=ONE_FILE)
async def import_scripts(caller: ApiCaller, scope: Scope, holder_id: HolderId, request: Request) -> ScriptsImported:
    """Add the scripts of a file of SillyTavern or RisuAI."""
    data, _name = await upload(request, max_bytes=service.MAX_FILE_BYTES)
    made, count, report = await service.import_scripts(*caller, scope, holder_id, data)
    return ScriptsImported(holder_id=made.holder_id, count=count, script=made.script, notes=notes_of(report))


@router.get("/{scope}/{holder_id}/export", response_class=Response, responses=documented())
async def export_scripts(
    caller: ApiCaller,
    scope: Scope,
    holder_id: HolderId,
    kind: Annotated[ScriptKind, Query(description="Whose scripts.")] = "sillytavern",
    place: Annotated[int | None, Query(ge=0, lt=MAX_SCRIPTS, description="Only the script at this place.")] = None,
) -> Response:
    """The scripts as a file for the application that they are for."""
    if place is not None:
        _holder, script = await service.script_at(*caller, scope, holder_id, kind, place)
        name = ScriptOut.of(kind, place, script).name or "script"
        return json_download(f"regex-{name}", service.exported(kind, [script], one=True))
    holder = await service.read_holder(*caller, scope, holder_id)
    name = f"regex-{holder.name}" if holder.name else "regex-scripts"
    return json_download(name, service.exported(kind, holder.lists.get(kind, ())))


@router.get("/{scope}/{holder_id}/{kind}/{place}", responses=documented())
async def show_script(
    caller: ApiCaller, scope: Scope, holder_id: HolderId, kind: ScriptKind, place: Place
) -> ScriptOut:
    """One script."""
    _holder, script = await service.script_at(*caller, scope, holder_id, kind, place)
    return ScriptOut.of(kind, place, script)


@router.patch("/{scope}/{holder_id}/{kind}/{place}", responses=documented(409))
async def change_script(
    caller: ApiCaller, scope: Scope, holder_id: HolderId, kind: ScriptKind, place: Place, patch: PatchScript
) -> ChangedScriptOut:
    """Change fields of a script, or move it in its list."""
    return _out(
        await service.change_script(
            *caller, scope, holder_id, kind, place, mark=patch.mark, fields=patch.data, to=patch.to
        )
    )


@router.delete("/{scope}/{holder_id}/{kind}/{place}", status_code=204, responses=documented(409))
async def delete_script(
    caller: ApiCaller,
    scope: Scope,
    holder_id: HolderId,
    kind: ScriptKind,
    place: Place,
    mark: Annotated[str, Query(max_length=64, description="The `mark` of the script that was read.")],
) -> None:
    """Delete a script."""
    await service.delete_script(*caller, scope, holder_id, kind, place, mark=mark)


@router.post("/{scope}/{holder_id}/{kind}/{place}/copy", status_code=201, responses=documented(409))
async def copy_script(
    caller: ApiCaller, scope: Scope, holder_id: HolderId, kind: ScriptKind, place: Place, wanted: CopyScript
) -> ChangedScriptOut:
    """Copy a script to another place, or move it there."""
    made = await service.copy_script(
        *caller, scope, holder_id, kind, place, mark=wanted.mark, to_scope=wanted.scope, to_id=wanted.holder_id,
        move=wanted.move,
    )  # fmt: skip
    return _out(made)
