"""The page of a search, and the search inside a conversation."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from tavernkit.playground.base.database.fulltext.analysis import LONGEST_QUERY
from tavernkit.playground.edge.presenting.search import SearchForm, search_view
from tavernkit.playground.edge.web.forms import fresh_page
from tavernkit.playground.edge.web.requests import PageCaller
from tavernkit.playground.story.search.documents import Kind
from tavernkit.playground.story.search.queries import find_in_conversation

router = APIRouter()

Asked = Annotated[str, Query(max_length=LONGEST_QUERY)]
Id = UUID | Literal[""]
Day = date | Literal[""]


@router.get("/search")
async def show(
    caller: PageCaller,
    q: Asked = "",
    kind: Kind | Literal[""] = "",
    space: Id = "",
    conversation: Id = "",
    character: Id = "",
    author: Literal["", "me"] = "",
    since: Day = "",
    until: Day = "",
    after: Annotated[str | None, Query(max_length=2000)] = None,
) -> Response:
    form = SearchForm(
        q=q.strip(),
        kind=kind,
        space=space or None,
        conversation=conversation or None,
        character=character or None,
        author=author,
        since=since or None,
        until=until or None,
    )
    return fresh_page("search.html", view=await search_view(*caller, form, after=after))


@router.get("/conversations/{conversation_id}/find.json")
async def find(
    response: Response, caller: PageCaller, conversation_id: UUID, q: Asked = ""
) -> dict[str, list[dict[str, str | int]]]:
    """The messages of the whole path that match, in their order."""
    response.headers["Cache-Control"] = "no-store"
    found = await find_in_conversation(*caller, conversation_id, q)
    return {"found": [{"id": str(one.id), "seq": one.seq} for one in found]}
