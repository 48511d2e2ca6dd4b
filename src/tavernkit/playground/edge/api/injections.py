"""The injections of a conversation over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel

from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, documented
from tavernkit.playground.story.paths import injections as service
from tavernkit.playground.story.paths.injections import MAX_NAME_CHARACTERS, InjectionIn, InjectionOut


class InjectionsOut(BaseModel):
    """The injections that the next prompt has, by name."""

    items: list[InjectionOut]


router = APIRouter(prefix="/conversations/{conversation_id}/injections", tags=["prompts"])

Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME_CHARACTERS, description="The injection.")]


@router.get("", responses=documented())
async def list_injections(caller: ApiCaller, conversation_id: ConversationId) -> InjectionsOut:
    """The texts that go into the next prompt of a conversation, beside the preset, the cards and the lore."""
    rows = await service.list_injections(*caller, conversation_id)
    return InjectionsOut(items=[InjectionOut.of_row(row) for row in rows])


@router.put("/{name:path}", responses=documented(409))
async def put_injection(
    caller: ApiCaller, conversation_id: ConversationId, name: Name, body: InjectionIn
) -> InjectionOut:
    """Set an injection, in the place of one of the same name."""
    return InjectionOut.of_row(await service.put_injection(*caller, conversation_id, name, body))


@router.delete("/{name:path}", status_code=204, responses=documented(409))
async def remove_injection(caller: ApiCaller, conversation_id: ConversationId, name: Name) -> None:
    """Remove an injection."""
    await service.remove_injection(*caller, conversation_id, name)
