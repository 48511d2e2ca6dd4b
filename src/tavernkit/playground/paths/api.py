"""The state of a story and its variables over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from tavernkit.playground.api.errors import documented, unless_refused
from tavernkit.playground.api.requests import Asked, Running
from tavernkit.playground.paths.queries import read_state
from tavernkit.playground.paths.schemas import StateOut, VariableIn, VariablesOut
from tavernkit.playground.paths.variables import delete_variable, get_variables, set_variable

__all__ = ["router"]

router = APIRouter(prefix="/conversations/{conversation_id}", tags=["state"])

ConversationId = Annotated[UUID, Path(description="The conversation.")]
At = Annotated[UUID | None, Query(alias="message_id", description="A message; without one, the end of the path.")]
Name = Annotated[str, Path(description="The variable.")]


@router.get("/state", responses=documented())
async def show_state(runtime: Running, viewer: Asked, conversation_id: ConversationId, at: At = None) -> StateOut:
    """Everything that the messages up to one have left behind."""
    seq, state = unless_refused(await read_state(runtime, viewer, conversation_id, message_id=at))
    return StateOut(seq=seq, state=state)


@router.get("/variables", responses=documented())
async def list_variables(
    runtime: Running, viewer: Asked, conversation_id: ConversationId, at: At = None
) -> VariablesOut:
    """The chat variables."""
    found = await get_variables(runtime, viewer, conversation_id, message_id=at)
    return VariablesOut(variables=unless_refused(found))


@router.put("/variables/{name:path}", responses=documented(409))
async def change_variable(
    runtime: Running, viewer: Asked, conversation_id: ConversationId, name: Name, body: VariableIn
) -> VariablesOut:
    """Set a variable at the end of the path."""
    changed = await set_variable(runtime, viewer, conversation_id, name, body.value)
    return VariablesOut(variables=unless_refused(changed))


@router.delete("/variables/{name:path}", responses=documented(409))
async def remove_variable(runtime: Running, viewer: Asked, conversation_id: ConversationId, name: Name) -> VariablesOut:
    """Remove a variable at the end of the path."""
    left = await delete_variable(runtime, viewer, conversation_id, name)
    return VariablesOut(variables=unless_refused(left))
