"""Providers over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request

from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import After, ApiCaller, Limit, Page, documented, page
from tavernkit.playground.edge.web.uploads import ONE_FILE, one_file
from tavernkit.playground.story.providers import queries, service, tokenizers
from tavernkit.playground.story.providers.documents import (
    ModelsOut,
    NewProvider,
    PatchProvider,
    ProviderOut,
    ProviderSummary,
    TrialOut,
)


class DefaultProvider(StrictModel):
    """Who answers where nobody has chosen."""

    provider_id: UUID


router = APIRouter(prefix="/providers", tags=["providers"])


@router.get("", responses=documented())
async def list_providers(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[ProviderSummary]:
    """The providers that you can choose, by name; administrators see those that are disabled, too."""
    rows = await caller.read(queries.providers_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, ProviderSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
async def add_provider(caller: ApiCaller, new: NewProvider) -> ProviderOut:
    """Add a provider. For administrators, as all that follows."""
    return ProviderOut.of(await service.add_provider(*caller, new))


@router.put("/default", responses=documented())
async def make_default(caller: ApiCaller, new: DefaultProvider) -> ProviderOut:
    """Choose who answers where nobody has chosen; one that is disabled is enabled."""
    return ProviderOut.of(await service.make_default(*caller, new.provider_id))


@router.get("/{provider_id}", responses=documented())
async def show_provider(caller: ApiCaller, provider_id: UUID) -> ProviderOut:
    """A provider, without its key."""
    return ProviderOut.of(await caller.read(queries.provider_to_manage, provider_id))


@router.patch("/{provider_id}", responses=documented(409))
async def change_provider(caller: ApiCaller, provider_id: UUID, patch: PatchProvider) -> ProviderOut:
    """Change a provider, or disable it."""
    return ProviderOut.of(await service.change_provider(*caller, provider_id, patch))


@router.delete("/{provider_id}", status_code=204, responses=documented(409))
async def delete_provider(caller: ApiCaller, provider_id: UUID) -> None:
    """Delete a provider that is not the default; who had chosen it uses that."""
    await service.delete_provider(*caller, provider_id)


@router.post("/{provider_id}/test", responses=documented())
async def try_connection(caller: ApiCaller, provider_id: UUID) -> TrialOut:
    """Ask the model something tiny, and say whether it answers."""
    return await service.try_connection(*caller, provider_id)


@router.get("/{provider_id}/models", responses=documented())
async def list_models(caller: ApiCaller, provider_id: UUID) -> ModelsOut:
    """The models that the provider says it has."""
    return await service.list_models(*caller, provider_id)


@router.put("/{provider_id}/tokenizer", responses=documented(413), openapi_extra=ONE_FILE)
async def put_tokenizer(request: Request, caller: ApiCaller, provider_id: UUID) -> ProviderOut:
    """Count prompts for this provider with a `tokenizer.json` of its model."""
    file = await one_file(request, max_bytes=tokenizers.MAX_FILE_BYTES)
    return ProviderOut.of(await tokenizers.set_tokenizer(*caller, provider_id, file))


@router.delete("/{provider_id}/tokenizer", responses=documented())
async def remove_tokenizer(caller: ApiCaller, provider_id: UUID) -> ProviderOut:
    """Count by what is known of the model."""
    return ProviderOut.of(await tokenizers.remove_tokenizer(*caller, provider_id))
