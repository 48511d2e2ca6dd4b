"""What goes into the prompts of a conversation beside cards and lore, for the tab of the side panel that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ConversationInjection
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import PanelView, panel_access, panel_view
from tavernkit.playground.edge.web.forms import one_newline, typed, understood
from tavernkit.playground.story.access.access import Access
from tavernkit.playground.story.paths.injections import InjectionIn, list_injections
from tavernkit.playground.story.presets.queries import MODULE, presets_page
from tavernkit.playground.story.prompting.toggles import SetToggle, list_toggles
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.values import Value

MODULES_SHOWN = 200
POSITIONS: Mapping[str, str] = {
    "chat": _("In chat at depth"),
    "before": _("Before main prompt"),
    "after": _("After main prompt"),
    "none": _("Not inserted"),
}
ROLES: Mapping[str, str] = {"system": _("System"), "user": _("User"), "assistant": _("Assistant")}


@typed
class InjectionForm(InjectionIn):
    """An injection as somebody types it."""

    name: str = ""

    def understood(self) -> InjectionIn:
        """What was typed, as the service takes it."""
        fields = self.model_dump(exclude={"name"})
        return understood(
            InjectionIn,
            **fields
            | {"content": one_newline(self.content), "scan": bool(self.scan), "ephemeral": bool(self.ephemeral)},
        )


class ModuleView(Value, frozen=True, kw_only=True):
    """A module of RisuAI, and where it is switched on: in the conversation, and in the space by itself."""

    id: UUID
    name: str
    is_on: bool
    is_on_in_space: bool


class PromptPanelView(Value, frozen=True, kw_only=True):
    """What goes into the next prompt, and the form for another injection; who may change what of it."""

    panel: PanelView
    modules: tuple[ModuleView, ...]
    toggles: tuple[SetToggle, ...]
    may_moderate: bool
    may_administer: bool
    injections: tuple[ConversationInjection, ...]
    may_change: bool
    form: InjectionForm

    @property
    def positions(self) -> Mapping[str, str]:
        return POSITIONS

    @property
    def roles(self) -> Mapping[str, str]:
        return ROLES


async def prompt_panel_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "", form: InjectionForm | None = None
) -> PromptPanelView:
    """What goes into the next prompt of a conversation; `form` is what somebody has typed, and it stays."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
        modules = await presets_page(session, viewer, kind=MODULE, behind=None, limit=MODULES_SHOWN)
    space = access.space
    used = effective(space, conversation=conversation).settings.prompt.modules
    used_in_space = effective(space).settings.prompt.modules
    is_in_use = (space.status, conversation.status) == ("active", "ready")
    return PromptPanelView(
        panel=panel_view(conversation, access, "prompt", problem),
        modules=tuple(
            ModuleView(
                id=row.id,
                name=shown_name(row.name),
                is_on=row.id in used,
                is_on_in_space=row.id in used_in_space,
            )
            for row in modules
        ),
        toggles=await list_toggles(runtime, viewer, conversation_id),
        may_moderate=is_in_use and access.level >= Access.MODERATE,
        may_administer=is_in_use and access.level >= Access.ADMINISTER,
        injections=await list_injections(runtime, viewer, conversation_id),
        may_change=is_in_use and access.level >= Access.TAKE_PART,
        form=form or InjectionForm.model_validate({}),
    )
