"""Providers over HTTP."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter

from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.edge.api.requests import After, ApiViewer, Limit, Page, documented, page
from tavernkit.playground.edge.web.requests import AppRuntime
from tavernkit.playground.story.providers import queries, service
from tavernkit.playground.story.providers.documents import (
    In,
    ModelsOut,
    NewProvider,
    PatchProvider,
    ProviderOut,
    ProviderSummary,
    TrialOut,
)


class DefaultProvider(In):
    """Who answers where nobody has chosen."""

    provider_id: UUID


router = APIRouter(prefix="/providers", tags=["providers"])


@router.get("", responses=documented())
async def list_providers(
    running: AppRuntime, asked: ApiViewer, limit: Limit = 50, after: After = None
) -> Page[ProviderSummary]:
    """The providers that you can choose, by name; administrators see those that are disabled, too."""
    async with running.database.read() as session:
        rows = await queries.providers_page(session, asked, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, ProviderSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
async def add_provider(running: AppRuntime, asked: ApiViewer, new: NewProvider) -> ProviderOut:
    """Add a provider. For administrators, as all that follows."""
    return ProviderOut.of(await service.add_provider(running, asked, new))


@router.put("/default", responses=documented())
async def make_default(running: AppRuntime, asked: ApiViewer, new: DefaultProvider) -> ProviderOut:
    """Choose who answers where nobody has chosen; one that is disabled is enabled."""
    return ProviderOut.of(await service.make_default(running, asked, new.provider_id))


@router.get("/{provider_id}", responses=documented())
async def show_provider(running: AppRuntime, asked: ApiViewer, provider_id: UUID) -> ProviderOut:
    """A provider, without its key."""
    async with running.database.read() as session:
        return ProviderOut.of(await queries.provider_to_manage(session, asked, provider_id))


@router.patch("/{provider_id}", responses=documented(409))
async def change_provider(
    running: AppRuntime, asked: ApiViewer, provider_id: UUID, patch: PatchProvider
) -> ProviderOut:
    """Change a provider, or disable it."""
    return ProviderOut.of(await service.change_provider(running, asked, provider_id, patch))


@router.delete("/{provider_id}", status_code=204, responses=documented(409))
async def delete_provider(running: AppRuntime, asked: ApiViewer, provider_id: UUID) -> None:
    """Delete a provider that is not the default; who had chosen it uses that."""
    await service.delete_provider(running, asked, provider_id)


@router.post("/{provider_id}/test", responses=documented())
async def try_connection(running: AppRuntime, asked: ApiViewer, provider_id: UUID) -> TrialOut:
    """Ask the model something tiny, and say whether it answers."""
    return await service.try_connection(running, asked, provider_id)


@router.get("/{provider_id}/models", responses=documented())
async def list_models(running: AppRuntime, asked: ApiViewer, provider_id: UUID) -> ModelsOut:
    """The models that the provider says it has."""
    return await service.list_models(running, asked, provider_id)
