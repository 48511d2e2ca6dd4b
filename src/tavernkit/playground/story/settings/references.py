"""Whether the provider or preset that somebody chose is one they may choose."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, Provider
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.story.settings_schema.leaf import Reference
from tavernkit.playground.story.settings_schema.pack import SETTINGS
from tavernkit.playground.story.settings_schema.patching import Changes


async def refuse_unknown_in(session: AsyncSession, viewer: Viewer, changes: Changes) -> None:
    """Refuse changes that point to what is not there or belongs to somebody else."""
    for path, value in changes.items():
        wanted = SETTINGS[path].leaf.refers_to
        if wanted and value is not None:
            await _refuse_unknown(session, viewer, path, value, wanted)


async def _refuse_unknown(
    session: AsyncSession, viewer: Viewer, path: str, id: UUID, wanted: Sequence[Reference]
) -> None:
    """Refuse an id that is none of a provider in use, or of a preset of these kinds that this person may use."""
    if "provider" in wanted:
        found = await session.scalar(select(Provider.id).where(Provider.id == id, ~Provider.disabled))
    else:
        found = await session.scalar(
            select(Preset.id).where(
                Preset.id == id,
                Preset.kind.in_(wanted),
                or_(Preset.owner_id == viewer.user_id, Preset.owner_id.is_(None)),
            )
        )
    if found is None:
        what = "provider" if "provider" in wanted else f"preset of the kind {' or '.join(wanted)}"
        raise Refused(code="invalid", sentence=f"The setting {path} was not taken: there is no such {what}.")
