"""The switches of RisuAI's presets and modules over HTTP."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.base.storable import storable
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, documented
from tavernkit.playground.story.prompting.toggles import SetToggle, list_toggles, set_toggle
from tavernkit.risuai.toggles import ToggleType


class ToggleOut(BaseModel):
    """A switch of a preset or module of RisuAI, or what stands between them."""

    key: str = Field(description="Macros read it as the global variable `toggle_` and this.")
    label: str
    type: ToggleType
    options: list[str] = Field(description="What a `select` offers; its value is the place of one, counted from 0.")
    value: str = Field(description="`1` or `0` for a switch; empty where nobody has set it.")

    @classmethod
    def of(cls, one: SetToggle) -> Self:
        toggle = one.toggle
        label, options = storable(toggle.label), list(map(storable, toggle.options))
        return cls(key=storable(toggle.key), label=label, type=toggle.type, options=options, value=storable(one.value))


class TogglesOut(BaseModel):
    """The switches that are in use in a conversation, in their order."""

    items: list[ToggleOut]


class ToggleIn(StrictModel):
    """What a switch is set to."""

    value: str = Field(max_length=20_000)


router = APIRouter(prefix="/conversations/{conversation_id}/toggles", tags=["prompts"])


@router.get("", responses=documented())
async def show_toggles(caller: ApiCaller, conversation_id: ConversationId) -> TogglesOut:
    """The switches that presets and modules of RisuAI bring into a conversation, and what they are set to."""
    return TogglesOut(items=[ToggleOut.of(one) for one in await list_toggles(*caller, conversation_id)])


@router.put("/{key:path}", responses=documented(409))
async def change_toggle(
    caller: ApiCaller,
    conversation_id: ConversationId,
    key: Annotated[str, Path(min_length=1, max_length=180, description="The switch.")],
    body: ToggleIn,
) -> ToggleOut:
    """Set such a switch: a global variable of the space's owner, which all of their spaces share."""
    return ToggleOut.of(await set_toggle(*caller, conversation_id, key, body.value))
