"""Replays of runs, and what prompts would have been, over HTTP."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.prompting import SentPromptOut
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, documented
from tavernkit.playground.story.previews.service import PreviewKind
from tavernkit.playground.story.replaying.changes import WhatIf
from tavernkit.playground.story.replaying.replay import replay_run
from tavernkit.playground.story.replaying.what_if import MOST_TURNS, ask_what_if, changed_prompt, next_what_if


class ReplayDocument(BaseModel):
    """A value as JSON."""

    model_config = ConfigDict(from_attributes=True)


class DifferenceOut(ReplayDocument):
    """The first place in which what was kept and what was built again differ."""

    place: str = Field(description="Such as `messages[3].content:120`: the character, in a text.")
    kept: str
    rebuilt: str


class ReplayedReplyOut(ReplayDocument):
    """What the recorded stream of the provider becomes."""

    is_same: bool = Field(description="Whether text, reasoning and changes of the state are those of then.")
    text: str
    reasoning: str
    difference: DifferenceOut | None


class ReplayOut(ReplayDocument):
    """A prompt that was built again from what was kept of its run."""

    run_id: UUID
    is_same: bool = Field(description="Whether the request is the same, to the byte.")
    fingerprint: str = Field(description="Of the request that was sent.")
    rebuilt_fingerprint: str
    tavernkit: str = Field(description="The version that has built the prompt.")
    difference: DifferenceOut | None
    reasons: list[str] = Field(description="What is not as it was then.")
    reply: ReplayedReplyOut | None = Field(description="Null where the stream was not recorded.")


class ActiveEntryOut(ReplayDocument):
    """An entry of a lorebook in a prompt."""

    book: str
    entry: str
    name: str


class FiguresOut(ReplayDocument):
    """A prompt in figures."""

    tokens: int
    budget: int | None
    entries: int = Field(description="Activated entries of lorebooks.")
    evictions: int
    reuse: float | None = Field(description="The share that it begins with as the prompt of the turn before.")
    cost: float | None = Field(description="Of its tokens, in dollars; null without a price.")


class TurnChangeOut(ReplayDocument):
    """What has become of the prompt of a turn."""

    before: FiguresOut
    after: FiguresOut
    is_same: bool
    gained: list[ActiveEntryOut]
    lost: list[ActiveEntryOut]
    evicted: dict[str, int] = Field(description="What does not fit any more: the part of the prompt, and how many.")
    kept: dict[str, int] = Field(description="What fits now.")


class NextWhatIfIn(WhatIf):
    """What is changed, and whose prompt it is."""

    speaker_id: UUID | None = Field(default=None, description="A member; without one, whoever would speak next.")
    kind: PreviewKind | None = Field(default=None, description="As in a preview.")


class NextWhatIfOut(ReplayDocument):
    """The next prompt with something changed, beside the one that would be sent."""

    change: TurnChangeOut
    prompt: SentPromptOut


class LastWhatIfIn(WhatIf):
    """What is changed, and in how many turns."""

    last: int = Field(default=20, ge=1, le=MOST_TURNS, description="How many replies, the last ones.")


router = APIRouter(tags=["prompts"])

RunId = Annotated[UUID, Path(description="The run.")]


@router.post("/runs/{run_id}/replay", responses=documented(409))
async def replay(caller: ApiCaller, run_id: RunId) -> ReplayOut:
    """Build the prompt of a run again from what was kept, and compare. No model is asked, and nothing is written."""
    return ReplayOut.model_validate(await replay_run(*caller, run_id))


@router.post("/runs/{run_id}/what_if", responses=documented(409))
async def what_if_of_run(caller: ApiCaller, run_id: RunId, body: WhatIf) -> SentPromptOut:
    """The prompt of a run as it would have been with something changed."""
    return SentPromptOut.of(await changed_prompt(*caller, run_id, body))


@router.post("/conversations/{conversation_id}/what_if/next", responses=documented(409))
async def what_if_next(caller: ApiCaller, conversation_id: ConversationId, body: NextWhatIfIn) -> NextWhatIfOut:
    """The next prompt with something changed, and what is different."""
    found = await next_what_if(*caller, conversation_id, body, speaker_id=body.speaker_id, kind=body.kind)
    return NextWhatIfOut(change=TurnChangeOut.model_validate(found.change), prompt=SentPromptOut.of(found.prompt))


@router.post("/conversations/{conversation_id}/what_if", status_code=202, responses=documented(409))
async def what_if_last(caller: ApiCaller, conversation_id: ConversationId, body: LastWhatIfIn) -> JobOut:
    """Build the prompts of the last turns again with something changed. The job's result has the figures of each turn
    before and after, entries gained and lost, what is evicted, and totals."""
    change = WhatIf.model_validate(body.model_dump(exclude={"last"}))
    return JobOut.of(await ask_what_if(*caller, conversation_id, change, last=body.last))
