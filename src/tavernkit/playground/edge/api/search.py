"""Search over HTTP."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from tavernkit.playground.base.database.fulltext.analysis import LONGEST_QUERY
from tavernkit.playground.base.schemas import Document
from tavernkit.playground.edge.api.requests import After, ApiCaller, Page, documented
from tavernkit.playground.edge.web.links import result_address
from tavernkit.playground.story.search.documents import KINDS, Kind, SearchResult, filters_of
from tavernkit.playground.story.search.queries import search

router = APIRouter(prefix="/search", tags=["search"])


class PieceOut(Document):
    """Part of a passage."""

    text: str
    is_match: bool = Field(description="Whether it is what was searched for.")


class ResultOut(Document):
    """Something that was found."""

    kind: Kind
    id: UUID = Field(
        description="Of the message, conversation, space, character, lorebook, entry, preset or persona: see `noun`."
    )
    noun: Literal["message", "conversation", "space", "character", "lorebook", "entry", "preset", "persona"]
    within: UUID | None = Field(description="The conversation of a message, or the lorebook of an entry.")
    title: str = Field(description="A name; of a message, who wrote it.")
    place: str = Field(description="The space and the conversation of a message, or the lorebook of an entry.")
    passage: list[PieceOut] = Field(description="The surroundings of the first match, on one line.")
    link: str = Field(description="The page that shows it; of a message, with what is around it.")
    date: datetime = Field(description="When a message was written; when anything else was changed last.")

    @classmethod
    def of(cls, found: SearchResult) -> Self:
        passage = [PieceOut.of_row(piece) for piece in found.passage]
        return cls.of_row(found, passage=passage, link=result_address(found), date=found.moment)


class ResultsOut(Page[ResultOut]):
    is_indexed: bool = Field(
        description="False while the index is being built, after an upgrade or a restored backup: texts may be missing."
    )


@router.get("", responses=documented())
async def find(
    caller: ApiCaller,
    q: Annotated[
        str,
        Query(
            max_length=LONGEST_QUERY,
            description="What to search for. All words must be there; three letters or more find the words that begin "
            'with them; `"words in quotes"` must be neighbours. Case and accents make no difference.',
        ),
    ],
    kind: Annotated[list[Kind] | None, Query(max_length=len(KINDS), description="Only these kinds.")] = None,
    space: Annotated[UUID | None, Query(description="Only messages in this space.")] = None,
    conversation: Annotated[UUID | None, Query(description="Only messages of this conversation or branch.")] = None,
    character: Annotated[UUID | None, Query(description="Only messages by this character.")] = None,
    author: Annotated[UUID | None, Query(description="Only messages by this person.")] = None,
    since: Annotated[date | None, Query(description="Only messages of this day (UTC) or later.")] = None,
    until: Annotated[date | None, Query(description="Only messages of this day (UTC) or earlier.")] = None,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=100, description="How many to give at most.")] = 20,
) -> ResultsOut:
    """What you may read and the query matches, the best of the newest matches first. With a filter about messages, only
    messages are found."""
    filters = filters_of(
        kinds=kind,
        space_id=space,
        conversation_id=conversation,
        character_id=character,
        author_id=author,
        since=since,
        until=until,
    )
    found = await search(*caller, q, filters, after=after, limit=limit)
    return ResultsOut(items=[ResultOut.of(one) for one in found.results], next=found.next, is_indexed=found.is_indexed)
