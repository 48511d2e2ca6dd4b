"""What can be changed about a membership, by whom, and into what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import SpaceMembership
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.access.access import Access, SpaceAccess
from tavernkit.playground.story.access.identity import persona_of
from tavernkit.playground.story.settings.references import refuse_unknown_in

DEFAULT_STEPS = 4
"""How many messages a copilot writes when nobody says."""

_OWNERS = ("role", "participation", "talkativeness")
_PEOPLES = ("role", "copilot_mode", "copilot_remaining_steps", "persona", "persona_id")
_CHARACTERS = ("talkativeness",)


async def refuse_change(
    session: AsyncSession, viewer: Viewer, entry: SpaceAccess, member: SpaceMembership, changes: Mapping[str, Any]
) -> None:
    """Why the change cannot be made, if so."""
    if member.status == "removed":
        raise Refused(code="conflict", sentence=f"{member.cached_display_name} was removed. Bring them back first.")
    _refuse_fields(entry, member, changes)
    if changes.get("persona_id") is not None:
        await persona_of(session, changes["persona_id"], member.user_id)
    chosen = {f"model.{field}": changes[field] for field in ("provider_id", "preset_id") if field in changes}
    return await refuse_unknown_in(session, viewer, chosen)


def apply_change(member: SpaceMembership, changes: Mapping[str, Any]) -> None:
    """Make a change that nothing speaks against."""
    for field in ("role", "participation"):
        if changes.get(field) is not None:
            setattr(member, field, changes[field])
    for field in ("persona_id", "provider_id", "preset_id", "talkativeness"):
        if field in changes:
            setattr(member, field, changes[field])
    if "name_override" in changes:
        member.name_override = titled(changes["name_override"] or "", "") or None
    if "persona" in changes:
        member.persona = storable(changes["persona"] or "")
    _apply_copilot(member, changes.get("copilot_mode"), changes.get("copilot_remaining_steps"))


def _refuse_fields(entry: SpaceAccess, member: SpaceMembership, changes: Mapping[str, Any]) -> None:
    for field in changes:
        if field in _OWNERS and entry.access < Access.ADMINISTER:
            raise Refused(code="forbidden", sentence=f"Only the owner of the space changes the {field} of members.")
        if field in _PEOPLES and member.kind != "human":
            raise _refused(field, "a character has none")
        if field in _CHARACTERS and member.kind != "character":
            raise _refused(field, "it is for characters")
    if changes.get("role") is not None and member.role == "owner":
        raise Refused(code="conflict", sentence="The owner of a space stays its owner.")
    mode = changes.get("copilot_mode") or member.copilot_mode
    if changes.get("copilot_remaining_steps") is not None and mode != "full":
        raise _refused("copilot_remaining_steps", "the copilot is off; set copilot_mode to full as well")
    return


def _apply_copilot(member: SpaceMembership, mode: str | None, steps: int | None) -> None:
    if mode == "none":
        member.copilot_mode, member.copilot_remaining_steps = "none", 0
    elif mode == "full" and member.copilot_mode == "none":
        member.copilot_mode, member.copilot_remaining_steps = "full", steps or DEFAULT_STEPS
        member.copilot_conversation_id = None
    elif steps is not None:
        member.copilot_remaining_steps = steps


def _refused(field: str, why: str) -> Refused:
    return Refused(code="invalid", sentence=f"{field} was not taken: {why}.")
