"""Presets over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import Preset
from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.base.storable import presentable, storable
from tavernkit.playground.edge.api.files import attachment, json_download, upload
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.uploads import ONE_FILE
from tavernkit.playground.story.lorebooks.documents import NoteOut, notes_of
from tavernkit.playground.story.presets import queries, service
from tavernkit.playground.story.presets.documents import (
    NewPreset,
    NewPrompt,
    OrderPrompts,
    OriginalOut,
    PatchPreset,
    PatchPrompt,
    PresetOut,
    PresetSummary,
    ResetPrompt,
    RestoreField,
)
from tavernkit.playground.story.presets.prompts import EVERY_CHARACTER, listed_prompts, other_orders
from tavernkit.playground.story.presets.queries import Kind, decode_preset
from tavernkit.playground.story.previews.presets import measure_preset, render_preset
from tavernkit.risuai.files import write_preset_file, write_risum
from tavernkit.risuai.module import Module
from tavernkit.risuai.settings import RisuSettings
from tavernkit.sillytavern.presets import ChatPreset, PresetPrompt


def download(row: Preset) -> Response:
    """The preset as a file of the platform that it is for."""
    match decode_preset(row.kind, row.data)[0]:
        case RisuSettings() as preset:
            data, ending = write_preset_file(preset), "risup"
        case Module() as module:
            data, ending = write_risum(module), "risum"
        case _:
            return json_download(row.name, row.data)
    return Response(data, media_type="application/octet-stream", headers=attachment(row.name, ending))


class PresetImported(BaseModel):
    preset: PresetOut
    notes: list[NoteOut]


class DefaultPreset(StrictModel):
    """The preset that your new spaces use."""

    preset_id: UUID | None


class PresetPromptOut(Document):
    """A prompt of the prompt manager."""

    identifier: str
    name: str
    role: str
    content: str
    marker: bool
    system_prompt: bool
    injection_position: int
    injection_depth: int
    injection_order: int
    injection_trigger: list[str]
    forbid_overrides: bool
    enabled: bool | None = Field(description="Whether it is sent; null for a prompt that is not in the order.")

    @classmethod
    def of(cls, prompt: PresetPrompt, enabled: bool | None) -> Self:
        texts = ("identifier", "name", "role", "content", "injection_trigger")
        shown = {name: presentable(getattr(prompt, name)) for name in texts}
        return cls.of_row(prompt, enabled=enabled, **shown)


class PromptsOut(BaseModel):
    """The prompts of a chat preset, in the order in which they are sent."""

    preset_id: UUID
    settings_version: int
    character_id: str = Field(description="Whose order it is; 100001 is the one for all characters.")
    orders: list[str] = Field(description="Characters that have an order of their own.")
    prompts: list[PresetPromptOut]


def prompts_out(row: Preset, preset: ChatPreset, character_id: str = EVERY_CHARACTER) -> PromptsOut:
    """The prompt manager of a preset, for a client."""
    return PromptsOut(
        preset_id=row.id,
        settings_version=row.settings_version,
        character_id=character_id,
        orders=list(map(storable, other_orders(preset))),
        prompts=[PresetPromptOut.of(prompt, enabled) for prompt, enabled in listed_prompts(preset, character_id)],
    )


class RenderPreset(StrictModel):
    """What to make one text of."""

    conversation_id: UUID | None = Field(default=None, description="Null for a small sample conversation.")
    data: dict[str, Any] = Field(default={}, description="Fields that are not saved, in place of those of the file.")


class RenderedOut(BaseModel):
    """The text that a text completion would send."""

    text: str


class PresetTokensOut(Document):
    """How many tokens the prompts of a preset take in the next prompt of a conversation."""

    parts: dict[str, int] = Field(description="By the identifier of a prompt, or the place of a card of RisuAI.")
    others: int
    total: int
    budget: int


OfCharacter = Annotated[
    str, Query(min_length=1, max_length=200, description="Whose order; without it, the one for all characters.")
]
SeenVersion = Annotated[int, Query(ge=0, le=2**31 - 1, description="The version that was read.")]


router = APIRouter(prefix="/presets", tags=["presets"])


@router.get("", responses=documented())
async def list_presets(
    caller: ApiCaller,
    kind: Annotated[Kind | None, Query(description="Only presets of this kind.")] = None,
    limit: Limit = 50,
    after: After = None,
) -> Page[PresetSummary]:
    """Your presets and those that are everybody's, by name."""
    rows = await caller.read(queries.presets_page, kind=kind, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, PresetSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
@takes(service.MAX_FILE_BYTES)
async def create_preset(caller: ApiCaller, new: NewPreset) -> PresetOut:
    """Make a preset."""
    return PresetOut.of(await service.create_preset(*caller, new))


@router.post("/import", status_code=201, responses=documented(413), openapi_extra=ONE_FILE)
async def import_preset(caller: ApiCaller, request: Request) -> PresetImported:
    """Make a preset of a file of SillyTavern, of any kind, or of one of RisuAI."""
    data, name = await upload(request, max_bytes=service.MAX_FILE_BYTES)
    row, report = await service.import_preset(*caller, data, name=name)
    return PresetImported(preset=PresetOut.of(row), notes=notes_of(report))


@router.get("/default", responses=documented())
async def show_default(caller: ApiCaller) -> DefaultPreset:
    """The preset that your new spaces use."""
    async with caller.runtime.database.read() as session:
        return DefaultPreset(preset_id=await queries.default_preset_id(session, caller.viewer.user_id))


@router.put("/default", responses=documented())
async def set_default(caller: ApiCaller, new: DefaultPreset) -> DefaultPreset:
    """Choose the preset that your new spaces use; null for none."""
    return DefaultPreset(preset_id=await service.set_default_preset(*caller, new.preset_id))


@router.get("/{preset_id}", responses=documented())
async def show_preset(caller: ApiCaller, preset_id: UUID) -> PresetOut:
    """A preset with its file."""
    return PresetOut.of(await caller.read(queries.preset_for, preset_id))


@router.patch("/{preset_id}", responses=documented(409))
@takes(service.MAX_FILE_BYTES)
async def update_preset(caller: ApiCaller, preset_id: UUID, patch: PatchPreset) -> PresetOut:
    """Change a preset; of one that is everybody's, a copy of yours, under an id of its own."""
    return PresetOut.of(await service.update_preset(*caller, preset_id, patch))


@router.delete("/{preset_id}", status_code=204, responses=documented(409))
async def delete_preset(caller: ApiCaller, preset_id: UUID) -> None:
    """Move a preset that is used nowhere to the trash."""
    await service.delete_preset(*caller, preset_id)


@router.post("/{preset_id}/duplicate", status_code=201, responses=documented())
async def duplicate_preset(caller: ApiCaller, preset_id: UUID) -> PresetOut:
    """Copy a preset."""
    return PresetOut.of(await service.duplicate_preset(*caller, preset_id))


@router.get("/{preset_id}/export", response_class=Response, responses=documented())
async def export_preset(caller: ApiCaller, preset_id: UUID) -> Response:
    """The preset as a file for the application that it came from."""
    row = await caller.read(queries.preset_for, preset_id)
    return download(row)


@router.post("/{preset_id}/share", responses=documented())
async def share_preset(caller: ApiCaller, preset_id: UUID) -> PresetOut:
    """Make a preset everybody's; for administrators."""
    return PresetOut.of(await service.share_preset(*caller, preset_id))


@router.get("/{preset_id}/original", responses=documented())
async def compare_preset(caller: ApiCaller, preset_id: UUID) -> OriginalOut:
    """The file that the preset was imported from, and what is different today."""
    _row, compared = await service.compare_preset(*caller, preset_id)
    return compared


@router.post("/{preset_id}/restore", responses=documented(409))
async def restore_field(caller: ApiCaller, preset_id: UUID, restore: RestoreField) -> PresetOut:
    """Have one field again as it was imported."""
    return PresetOut.of(await service.restore_field(*caller, preset_id, restore))


@router.post("/{preset_id}/render", responses=documented(409))
@takes(service.MAX_FILE_BYTES)
async def render_text(caller: ApiCaller, preset_id: UUID, wanted: RenderPreset) -> RenderedOut:
    """The text that a preset or template of text completion makes of a conversation."""
    row = await caller.read(queries.preset_for, preset_id)
    preset = decode_preset(row.kind, {**row.data, **presentable(wanted.data)})[0]
    return RenderedOut(text=await render_preset(*caller, preset, wanted.conversation_id))


@router.get("/{preset_id}/tokens", responses=documented(409))
async def measure_prompts(caller: ApiCaller, preset_id: UUID, conversation_id: UUID) -> PresetTokensOut:
    """How many tokens each prompt of the preset takes in a conversation."""
    row = await caller.read(queries.preset_for, preset_id)
    preset = decode_preset(row.kind, row.data)[0]
    return PresetTokensOut.of_row(await measure_preset(*caller, preset, conversation_id))


@router.get("/{preset_id}/prompts", responses=documented())
async def list_prompts(caller: ApiCaller, preset_id: UUID, character_id: OfCharacter = EVERY_CHARACTER) -> PromptsOut:
    """The prompts of a chat preset, in their order; of another preset, none."""
    row = await caller.read(queries.preset_for, preset_id)
    preset = decode_preset(row.kind, row.data)[0]
    return prompts_out(row, preset if isinstance(preset, ChatPreset) else ChatPreset(), character_id)


@router.post("/{preset_id}/prompts", status_code=201, responses=documented(409))
async def add_prompt(caller: ApiCaller, preset_id: UUID, new: NewPrompt) -> PromptsOut:
    """Add a prompt to a chat preset."""
    return prompts_out(*await service.add_prompt(*caller, preset_id, new))


@router.put("/{preset_id}/prompts/order", responses=documented(409))
async def order_prompts(caller: ApiCaller, preset_id: UUID, new: OrderPrompts) -> PromptsOut:
    """Put the prompts into an order, each switched on or off; those not named are not sent."""
    return prompts_out(*await service.order_prompts(*caller, preset_id, new), new.character_id)


@router.delete("/{preset_id}/prompts/order", responses=documented(409))
async def remove_order(
    caller: ApiCaller, preset_id: UUID, character_id: OfCharacter, settings_version: SeenVersion
) -> PromptsOut:
    """Delete the order of one character; of all characters, the default order counts again."""
    return prompts_out(*await service.remove_order(*caller, preset_id, character_id, settings_version))


@router.patch("/{preset_id}/prompts/{identifier}", responses=documented(409))
async def change_prompt(caller: ApiCaller, preset_id: UUID, identifier: str, patch: PatchPrompt) -> PromptsOut:
    """Change a prompt, or switch it on or off."""
    return prompts_out(*await service.change_prompt(*caller, preset_id, identifier, patch), patch.character_id)


@router.post("/{preset_id}/prompts/{identifier}/reset", responses=documented(409))
async def reset_prompt(caller: ApiCaller, preset_id: UUID, identifier: str, reset: ResetPrompt) -> PromptsOut:
    """Give one of SillyTavern's own prompts its built-in text again."""
    return prompts_out(*await service.reset_prompt(*caller, preset_id, identifier, reset.settings_version))


@router.delete("/{preset_id}/prompts/{identifier}", responses=documented(409))
async def remove_prompt(
    caller: ApiCaller,
    preset_id: UUID,
    identifier: str,
    settings_version: SeenVersion,
    character_id: OfCharacter = EVERY_CHARACTER,
) -> PromptsOut:
    """Take a prompt out of the order; one that is not SillyTavern's own is deleted, unless only one character's order
    is meant."""
    changed = await service.remove_prompt(*caller, preset_id, identifier, settings_version, character_id=character_id)
    return prompts_out(*changed, character_id)
