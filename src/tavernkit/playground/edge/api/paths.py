"""The state of a story and its variables over HTTP."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, documented
from tavernkit.playground.story.paths.state import read_state
from tavernkit.playground.story.paths.variables import (
    MAX_NAME_CHARACTERS,
    delete_global,
    delete_variable,
    get_globals,
    get_variables,
    set_global,
    set_variable,
    written,
)


class StateOut(BaseModel):
    """The state behind a message."""

    seq: int = Field(description="The number of the message.")
    state: dict[str, Any] = Field(description="Keys such as `variables.gold`.")


class VariablesOut(BaseModel):
    """The chat variables at one place of the path, or the global ones."""

    variables: dict[str, Any]


class VariableIn(StrictModel):
    """What a variable is to hold."""

    value: Any = Field(description="Any JSON value.")


class ChatVariableIn(VariableIn):
    """What a chat variable is to hold."""

    was: Any = Field(
        default=None, description="The value that was read; a change made from another one is refused as stale."
    )


router = APIRouter(prefix="/conversations/{conversation_id}", tags=["state"])
global_router = APIRouter(prefix="/variables", tags=["state"])

At = Annotated[UUID | None, Query(alias="message_id", description="A message; without one, the end of the path.")]
Name = Annotated[str, Path(min_length=1, max_length=MAX_NAME_CHARACTERS, description="The variable.")]


@router.get("/state", responses=documented())
async def show_state(caller: ApiCaller, conversation_id: ConversationId, at: At = None) -> StateOut:
    """Everything that the messages up to one have left behind."""
    seq, state = await read_state(*caller, conversation_id, message_id=at)
    return StateOut(seq=seq, state=state)


@router.get("/variables", responses=documented())
async def list_variables(caller: ApiCaller, conversation_id: ConversationId, at: At = None) -> VariablesOut:
    """The chat variables."""
    return VariablesOut(variables=await get_variables(*caller, conversation_id, message_id=at))


@router.put("/variables/{name:path}", responses=documented(409))
async def change_variable(
    caller: ApiCaller, conversation_id: ConversationId, name: Name, body: ChatVariableIn
) -> VariablesOut:
    """Set a variable at the end of the path."""
    was = written(body.was) if "was" in body.model_fields_set else None
    return VariablesOut(variables=await set_variable(*caller, conversation_id, name, body.value, was=was))


@router.delete("/variables/{name:path}", responses=documented(409))
async def remove_variable(caller: ApiCaller, conversation_id: ConversationId, name: Name) -> VariablesOut:
    """Remove a variable at the end of the path."""
    return VariablesOut(variables=await delete_variable(*caller, conversation_id, name))


@global_router.get("", responses=documented())
async def list_globals(caller: ApiCaller) -> VariablesOut:
    """Your global variables, which all of your spaces share."""
    return VariablesOut(variables=await get_globals(*caller))


@global_router.put("/{name:path}", responses=documented(409))
async def change_global(caller: ApiCaller, name: Name, body: VariableIn) -> VariablesOut:
    """Set a global variable."""
    return VariablesOut(variables=await set_global(*caller, name, body.value))


@global_router.delete("/{name:path}", responses=documented())
async def remove_global(caller: ApiCaller, name: Name) -> VariablesOut:
    """Remove a global variable."""
    return VariablesOut(variables=await delete_global(*caller, name))
