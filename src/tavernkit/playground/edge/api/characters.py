"""Characters over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from tavernkit.card_lint import LintCode
from tavernkit.characters import Character, CharacterCard
from tavernkit.playground.base.database import models
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.paging import behind_name, behind_number, behind_time
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.edge.api.files import BINARY, BINARY_OR_JSON, attachment, bytes_response
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.uploads import ONE_FILE, file_body, one_file, received_form
from tavernkit.playground.story.characters import assets, queries, service
from tavernkit.playground.story.characters.cards import changes_between
from tavernkit.playground.story.characters.checking import check_card
from tavernkit.playground.story.characters.documents import (
    AssetChange,
    AssetKind,
    CardEdit,
    CharacterLineOut,
    CharacterOut,
    NewCard,
    OwnTags,
    Version,
)
from tavernkit.playground.story.characters.files import MAX_ASSETS_BYTES, MAX_FILE_BYTES, ExportFormat, export_character
from tavernkit.playground.story.characters.importing import (
    MAX_FILES,
    MAX_TOTAL_BYTES,
    SameName,
    import_file,
    start_import,
)
from tavernkit.playground.story.characters.queries import CharacterLine, Scope, Sort, VersionLine

MAX_EDIT_BYTES = 16 * 1024 * 1024
"""A card as text, with its lorebook."""


class CardChangeOut(Document):
    """A field that differs; long texts are cut."""

    field: str
    before: str | None
    after: str | None


class ImportOut(Document):
    """What became of a file."""

    outcome: Literal["imported", "same", "updated", "skipped"]
    sentence: str
    character: CharacterOut
    changes: list[CardChangeOut] = Field(description="What an update changed.")
    notes: list[str] = Field(description="What could not be taken as it was.")


class CardHintOut(Document):
    """Something that the author of a card may want to look at."""

    path: str = Field(description="The field, such as `alternate_greetings[0]`.")
    code: LintCode
    message: str
    value: str = Field(description="What it is about: a macro, a key, a name.")


class CardCheckOut(Document):
    """A card's tokens and hints."""

    counts: dict[str, int] = Field(description="Tokens by the path of each text.")
    permanent: int = Field(description="Tokens in every prompt.")
    total: int = Field(description="The same with the first message and the example messages.")
    hints: list[CardHintOut]


class CharacterVersionLineOut(Document):
    """An earlier card."""

    number: int
    replaced_by: str = Field(description="What came after it: edited, imported, restored or picture.")
    created_at: datetime

    @classmethod
    def of(cls, line: VersionLine) -> Self:
        return cls.of_row(line, replaced_by=line.reason)


class CharacterVersionOut(CharacterVersionLineOut):
    card: dict[str, Any] = Field(description="The whole card, as Character Card V3.")
    changes: list[CardChangeOut] = Field(description="What is different in the newest card.")


class RestoreIn(StrictModel):
    version: Version
    number: int = Field(ge=1, le=2**31 - 1, description="The version to go back to.")


CHECKED = "private, no-cache"

router = APIRouter(prefix="/characters", tags=["characters"], responses=documented())

SameNameQuery = Annotated[
    SameName,
    Query(
        description="What a different card of the same name by the same creator becomes. `new`: a new character; "
        "`version`: a new version; `skip`: it is left out."
    ),
]

SeenVersion = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The version that the change was made from.")]


@router.get("", summary="A page of characters")
async def list_characters(
    caller: ApiCaller,
    scope: Annotated[Scope, Query(description="One's own, or those that are everybody's.")] = "own",
    sort: Annotated[Sort, Query(description="By name; or what was changed, or made, last first.")] = "name",
    search: Annotated[str, Query(max_length=200, description="Words of the name, nickname, creator or tags.")] = "",
    tag: Annotated[str, Query(max_length=200, description="A whole tag.")] = "",
    limit: Limit = 50,
    after: After = None,
) -> Page[CharacterLineOut]:
    place = behind_name(after) if sort == "name" else behind_time(after)
    async with caller.runtime.database.read() as session:
        lines = await queries.characters_page(
            session, caller.viewer, scope=scope, sort=sort, search=search, tag=tag, after=place, limit=limit + 1
        )
    return page(lines, limit, CharacterLineOut.of_row, lambda line: (_key(line, sort), str(line.id)))


@router.post("", summary="Import a card file of any format", responses=documented(409, 413), openapi_extra=ONE_FILE)
async def upload_character(
    request: Request,
    caller: ApiCaller,
    character_id: Annotated[
        UUID | None, Query(description="The character that the file is a newer card of; found out without it.")
    ] = None,
    as_new: Annotated[bool, Query(description="Make a new character, even if the file is here already.")] = False,
    same_name: SameNameQuery = "new",
) -> ImportOut:
    file = await one_file(request, max_bytes=MAX_FILE_BYTES)
    imported = await import_file(*caller, file, character_id=character_id, as_new=as_new, same_name=same_name)
    changes = [CardChangeOut.of_row(change) for change in imported.changes]
    return ImportOut.of_row(imported, character=await _shown(caller.runtime, imported.character), changes=changes)


@router.post("/new", status_code=201, summary="Create a character from fields of a card")
@takes(MAX_EDIT_BYTES)
async def create_character(caller: ApiCaller, card: NewCard) -> CharacterOut:
    return await _shown(caller.runtime, await service.create_character(*caller, card.fields()))


@router.post("/check", summary="Count the tokens of a card, and look for what was probably not meant")
@takes(MAX_EDIT_BYTES)
async def check(
    caller: ApiCaller,
    card: NewCard,
    provider_id: Annotated[
        UUID | None, Query(description="The provider whose model counts; the default one without it.")
    ] = None,
) -> CardCheckOut:
    typed = service.edited_card(CharacterCard(character=Character(name="")), card.fields()).character
    found = await check_card(caller.runtime, typed, provider_id=provider_id)
    return CardCheckOut.of_row(found, hints=[CardHintOut.of_row(hint) for hint in found.hints])


@router.post(
    "/import",
    status_code=202,
    summary="Import many card files in the background",
    responses=documented(413),
    openapi_extra=file_body("files", many=True),
)
async def upload_characters(request: Request, caller: ApiCaller, same_name: SameNameQuery = "new") -> JobOut:
    sent = received_form(request, field="files", max_files=MAX_FILES, max_bytes=MAX_TOTAL_BYTES)
    async with sent as form:
        return JobOut.of(await start_import(*caller, form.files, same_name=same_name))


@router.get("/{character_id}", summary="A character with its card")
async def get_character(caller: ApiCaller, character_id: UUID) -> CharacterOut:
    async with caller.runtime.database.read() as session:
        row = await queries.find_character(session, character_id, caller.viewer)
        return CharacterOut.with_card(row, await queries.assets_of(session, row.id))


@router.patch("/{character_id}", summary="Change fields of a card", responses=documented(409))
@takes(MAX_EDIT_BYTES)
async def patch_character(caller: ApiCaller, character_id: UUID, edit: CardEdit) -> CharacterOut:
    edited = await service.edit_character(*caller, character_id, version=edit.version, fields=edit.fields())
    return await _shown(caller.runtime, edited)


@router.delete("/{character_id}", status_code=204, summary="Move a character to the trash; what it said stays readable")
async def remove_character(caller: ApiCaller, character_id: UUID) -> None:
    await service.delete_character(*caller, character_id)


@router.post("/{character_id}/duplicate", status_code=201, summary="Make a copy of one's own")
async def copy_character(caller: ApiCaller, character_id: UUID) -> CharacterOut:
    return await _shown(caller.runtime, await service.duplicate_character(*caller, character_id))


@router.get("/{character_id}/versions", summary="Earlier cards, newest first")
async def list_versions(
    caller: ApiCaller, character_id: UUID, limit: Limit = 50, after: After = None
) -> Page[CharacterVersionLineOut]:
    async with caller.runtime.database.read() as session:
        row = await queries.find_character(session, character_id, caller.viewer)
        queries.check_history(row, caller.viewer)
        lines = await queries.versions_of(session, row.id, before=behind_number(after), limit=limit + 1)
    return page(lines, limit, CharacterVersionLineOut.of, lambda line: (line.number,))


@router.get("/{character_id}/versions/{number}", summary="An earlier card, and what has changed since")
async def get_version(
    caller: ApiCaller, character_id: UUID, number: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> CharacterVersionOut:
    async with caller.runtime.database.read() as session:
        row = await queries.find_character(session, character_id, caller.viewer)
        queries.check_history(row, caller.viewer)
        version = existing(await queries.find_version(session, row.id, number), _("version"))
    changes = [CardChangeOut.of_row(change) for change in changes_between(version.data, row.data)]
    return CharacterVersionOut.of_row(
        version, replaced_by=version.reason, card=presentable(version.data), changes=changes
    )


@router.post("/{character_id}/restore", summary="Go back to an earlier card", responses=documented(409))
async def restore(caller: ApiCaller, character_id: UUID, wanted: RestoreIn) -> CharacterOut:
    restored = await service.restore_version(*caller, character_id, version=wanted.version, number=wanted.number)
    return await _shown(caller.runtime, restored)


@router.get(
    "/{character_id}/export", summary="The character as a card file", response_class=Response, responses=BINARY_OR_JSON
)
async def export(caller: ApiCaller, character_id: UUID, format: ExportFormat = "png") -> Response:
    file = await export_character(*caller, character_id, format)
    return Response(file.data, media_type=file.media_type, headers=attachment(file.name, file.ending))


@router.get("/{character_id}/avatar", summary="The character's picture", response_class=Response, responses=BINARY)
async def get_avatar(
    request: Request, caller: ApiCaller, character_id: UUID, size: Literal["full", "thumbnail"] = "full"
) -> Response:
    async with caller.runtime.database.read() as session:
        blob = await queries.find_avatar(session, character_id, caller.viewer, size)
    return bytes_response(request, blob, cache=CHECKED)


@router.put(
    "/{character_id}/avatar",
    summary="Give a character another picture",
    responses=documented(409, 413),
    openapi_extra=ONE_FILE,
)
async def put_avatar(
    request: Request,
    caller: ApiCaller,
    character_id: UUID,
    version: SeenVersion = None,
) -> CharacterOut:
    picture = await one_file(request, max_bytes=MAX_FILE_BYTES)
    return await _shown(caller.runtime, await service.set_avatar(*caller, character_id, picture, version=version))


@router.put("/{character_id}/tags", summary="Give a character tags of your own, beside those of its card")
async def put_tags(caller: ApiCaller, character_id: UUID, own: OwnTags) -> CharacterOut:
    return await _shown(caller.runtime, await service.change_own_tags(*caller, character_id, own.tags))


@router.post(
    "/{character_id}/assets",
    summary="Add pictures of a kind",
    responses=documented(409, 413),
    openapi_extra=file_body("files", many=True),
)
async def add_assets(
    request: Request, caller: ApiCaller, character_id: UUID, kind: AssetKind, version: SeenVersion = None
) -> CharacterOut:
    sent = received_form(request, field="files", max_files=assets.MAX_UPLOADED, max_bytes=MAX_ASSETS_BYTES)
    async with sent as form:
        pictures = [assets.NewPicture(filename=file.filename or "", data=await file.read()) for file in form.files]
    changed = await assets.add_pictures(*caller, character_id, pictures, kind=kind, version=version)
    return await _shown(caller.runtime, changed)


@router.patch("/{character_id}/assets/{asset_id}", summary="Rename a picture", responses=documented(409))
async def patch_asset(caller: ApiCaller, character_id: UUID, asset_id: UUID, change: AssetChange) -> CharacterOut:
    changed = await assets.change_asset(
        *caller, character_id, asset_id, name=change.name, kind=change.kind, version=change.version
    )
    return await _shown(caller.runtime, changed)


@router.delete("/{character_id}/assets/{asset_id}", summary="Remove a picture", responses=documented(409))
async def remove_asset(
    caller: ApiCaller, character_id: UUID, asset_id: UUID, version: SeenVersion = None
) -> CharacterOut:
    return await _shown(caller.runtime, await assets.delete_asset(*caller, character_id, asset_id, version=version))


@router.post("/{character_id}/assets/{asset_id}/main", summary="Make it the main picture", responses=documented(409))
async def choose_main(
    caller: ApiCaller, character_id: UUID, asset_id: UUID, version: SeenVersion = None
) -> CharacterOut:
    return await _shown(caller.runtime, await assets.use_as_picture(*caller, character_id, asset_id, version=version))


async def _shown(runtime: Runtime, row: models.Character) -> CharacterOut:
    async with runtime.database.read() as session:
        return CharacterOut.with_card(row, await queries.assets_of(session, row.id))


def _key(line: CharacterLine, sort: Sort) -> str:
    if sort == "name":
        return line.name_key
    return (line.updated_at if sort == "recent" else line.created_at).isoformat()
