"""Settings over HTTP: the schema, and each layer."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, documented
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.settings import service
from tavernkit.playground.story.settings.documents import SettingsOut
from tavernkit.playground.story.settings.sillytavern_file import MAX_FILE_BYTES
from tavernkit.playground.story.settings_schema.resolving import json_schema, schema_etag


class SettingsPatch(StrictModel):
    """A change of settings."""

    settings_version: int = Field(ge=0, description="The version that the change was made from.")
    settings: dict[str, Any] = Field(
        description="Groups of settings as in the schema; null takes a setting, or a whole group, back.",
        examples=[{"llm": {"temperature": 0.8}, "authors_note": {"text": "It rains."}}],
    )


router = APIRouter(tags=["settings"])

CACHING = "private, no-cache"


@router.get(
    "/schemas/settings",
    response_model=dict[str, Any],
    responses={**documented(), 304: {"description": "The schema is the one that the client has."}},
)
async def settings_schema(
    _: ApiCaller, if_none_match: Annotated[str | None, Header(max_length=2000)] = None
) -> Response:
    """The JSON Schema of all settings, with where each is stored and how it is shown."""
    headers = {"ETag": schema_etag(), "Cache-Control": CACHING}
    if if_none_match is not None and _is_known(if_none_match):
        return Response(status_code=304, headers=headers)
    return JSONResponse(json_schema(), headers=headers)


@router.get("/spaces/{space_id}/settings", responses=documented())
async def space_settings(caller: ApiCaller, space_id: UUID) -> SettingsOut:
    """The settings of a space."""
    return await service.read_space_settings(*caller, space_id)


@router.patch("/spaces/{space_id}/settings", responses=documented(409))
async def patch_space_settings(caller: ApiCaller, space_id: UUID, body: SettingsPatch) -> SettingsOut:
    """Change settings of a space."""
    return await service.change_space_settings(
        *caller, space_id, settings_version=body.settings_version, patch=body.settings
    )


@router.post("/spaces/{space_id}/settings/import", responses=documented(413), openapi_extra=ONE_FILE)
async def import_space_settings(request: Request, caller: ApiCaller, space_id: UUID) -> SettingsOut:
    """Take over the macro engine and the World Info settings from SillyTavern's `settings.json`."""
    file = await one_file(request, max_bytes=MAX_FILE_BYTES)
    return await service.import_space_settings(*caller, space_id, file)


@router.get("/members/{member_id}/settings", responses=documented())
async def member_settings(caller: ApiCaller, member_id: UUID) -> SettingsOut:
    """The settings of a member, over those of the space."""
    return await service.read_member_settings(*caller, member_id)


@router.patch("/members/{member_id}/settings", responses=documented(409))
async def patch_member_settings(caller: ApiCaller, member_id: UUID, body: SettingsPatch) -> SettingsOut:
    """Change settings of a member."""
    return await service.change_member_settings(
        *caller, member_id, settings_version=body.settings_version, patch=body.settings
    )


@router.get("/conversations/{conversation_id}/settings", responses=documented())
async def conversation_settings(
    caller: ApiCaller,
    conversation_id: UUID,
    member_id: Annotated[UUID | None, Query(description="As they are while this member speaks.")] = None,
) -> SettingsOut:
    """The settings of a conversation, over those of the space."""
    return await service.read_conversation_settings(*caller, conversation_id, member_id=member_id)


@router.patch("/conversations/{conversation_id}/settings", responses=documented(409))
async def patch_conversation_settings(caller: ApiCaller, conversation_id: UUID, body: SettingsPatch) -> SettingsOut:
    """Change settings of a conversation, its author's note among them."""
    return await service.change_conversation_settings(
        *caller, conversation_id, settings_version=body.settings_version, patch=body.settings
    )


def _is_known(if_none_match: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or schema_etag() in tags
