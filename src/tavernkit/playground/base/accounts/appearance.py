"""How pages look for one account: colours, typeface, and the measures of the text."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from tavernkit.playground.base.accounts.viewer import Viewer, require_person
from tavernkit.playground.base.database.models import User
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.schemas import StrictModel, patching

Scheme: TypeAlias = Literal["system", "light", "dark", "sepia", "contrast_light", "contrast_dark"]
Accent: TypeAlias = Literal["rust", "amber", "green", "teal", "blue", "violet", "rose", "own"]
Typeface: TypeAlias = Literal["serif", "sans", "system"]
TextSize: TypeAlias = Literal[14, 16, 18, 20, 22, 24]
Width: TypeAlias = Literal["narrow", "medium", "wide", "full"]
Chips: TypeAlias = Literal["shown", "hidden"]
Spacing: TypeAlias = Literal["compact", "normal", "relaxed"]


class AppearanceFields(StrictModel):
    """What somebody chooses. The colours themselves are in the style sheet, which keeps every accent readable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: Scheme = Field(default="system", description="`system` is light or dark, as the device has it.")
    accent: Accent = "rust"
    own_accent: str = Field(
        default="#8a3324",
        pattern=r"^#[0-9a-f]{6}$",
        description="The colour for the accent `own`. Pages make it as dark or light as is readable.",
    )
    typeface: Typeface = Field(default="serif", description="The typeface of stories.")
    text_size: TextSize = Field(default=18, description="The size of stories, in pixels.")
    width: Width = Field(default="medium", description="How wide the column of text is.")
    spacing: Spacing = Field(default="normal", description="The distance between lines.")
    chips: Chips = Field(default="shown", description="Tokens, cost and activated entries below replies.")


class Appearance(AppearanceFields):
    """An appearance, and how often it was changed."""

    version: int = Field(default=0, description="Send it along to change nothing that was changed since.")


@patching
class AppearancePatch(AppearanceFields):
    """What to change; what is left out stays."""

    version: int | None = Field(default=None, ge=0, le=2**31 - 1, description="The version that was read.")


def appearance_in(stored: dict[str, Any] | None) -> Appearance:
    """What an account has chosen, or what everybody has who has not."""
    return Appearance.model_validate(stored or {})


async def change_appearance(runtime: Runtime, viewer: Viewer, patch: AppearancePatch) -> Appearance:
    """Change how pages look for one's account, on every device."""
    fields = patch.model_dump(exclude={"version"}, exclude_none=True)
    return await _change(runtime, viewer, fields, seen=patch.version)


async def reset_appearance(runtime: Runtime, viewer: Viewer) -> Appearance:
    """Go back to how pages look for those who have chosen nothing."""
    return await _change(runtime, viewer, AppearanceFields().model_dump(), seen=None)


async def _change(runtime: Runtime, viewer: Viewer, fields: dict[str, Any], *, seen: int | None) -> Appearance:
    require_person(viewer)
    async with runtime.database.write() as session:
        user = existing(await session.get(User, viewer.user_id, with_for_update=True), _("account"))
        current = appearance_in(user.appearance)
        if seen is not None and seen != current.version:
            raise stale(_("appearance"), current)
        changed = Appearance.model_validate({**current.model_dump(), **fields, "version": current.version + 1})
        user.appearance = changed.model_dump()
        return changed
