"""From rows to the page on which people choose with whom they share something."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import ChoiceView
from tavernkit.playground.story.access.sharing import NounColumn, SharedPlace, shares_of
from tavernkit.values import Value

PAGES: dict[NounColumn, str] = {"character_id": "characters", "lorebook_id": "lorebooks", "preset_id": "presets"}


class SharesView(Value, frozen=True, kw_only=True):
    """With whom something is shared, and with whom it can be besides; `query` names it in addresses, and `back` is its
    own page."""

    places: tuple[SharedPlace, ...]
    choices: tuple[ChoiceView, ...]
    query: str
    back: str
    problem: str


async def shares_view(
    runtime: Runtime, viewer: Viewer, column: NounColumn, id: UUID, *, problem: str = ""
) -> SharesView:
    """With whom something of the viewer's own is shared."""
    places, spaces = await shares_of(runtime, viewer, column, id)
    is_everybodys = any(place.share.space_id is None for place in places)
    everybody = () if is_everybodys else (ChoiceView(value="", label=_("Everybody with an account")),)
    return SharesView(
        places=tuple(places),
        choices=(*(ChoiceView(value=str(space.id), label=shown_name(space.name)) for space in spaces), *everybody),
        query=f"?{column}={id}",
        back=f"/{PAGES[column]}/{id}",
        problem=problem,
    )
