"""What goes into the prompts of a conversation beside cards and lore, for the tab of the side panel that shows it."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import ConversationInjection
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import PanelView, panel_access, panel_view
from tavernkit.playground.edge.web.forms import one_newline, typed, understood
from tavernkit.playground.story.access.access import Access
from tavernkit.playground.story.paths.injections import InjectionIn, list_injections
from tavernkit.values import Value

POSITIONS = {
    "chat": "In the chat",
    "before": "Before the character",
    "after": "After the character",
    "none": "Not sent",
}
ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}


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


class PromptPanelView(Value, frozen=True, kw_only=True):
    """The injections of a conversation, and the form for another one."""

    panel: PanelView
    injections: tuple[ConversationInjection, ...]
    may_change: bool
    form: InjectionForm

    @property
    def positions(self) -> dict[str, str]:
        return POSITIONS

    @property
    def roles(self) -> dict[str, str]:
        return ROLES


async def prompt_panel_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, problem: str = "", form: InjectionForm | None = None
) -> PromptPanelView:
    """What goes into the next prompt of a conversation; `form` is what somebody has typed, and it stays."""
    async with runtime.database.read() as session:
        conversation, access = await panel_access(session, viewer, conversation_id)
    return PromptPanelView(
        panel=panel_view(conversation, access, "prompt", problem),
        injections=await list_injections(runtime, viewer, conversation_id),
        may_change=access.level >= Access.TAKE_PART
        and (access.space.status, conversation.status) == ("active", "ready"),
        form=form or InjectionForm.model_validate({}),
    )
