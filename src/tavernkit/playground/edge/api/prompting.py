"""Prompts over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Self
from uuid import UUID

import msgspec
from fastapi import APIRouter, Path, Query
from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict, Field

from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.edge.api.requests import ApiCaller, ConversationId, documented
from tavernkit.playground.edge.web.links import source_address
from tavernkit.playground.story.previews import explanations, service
from tavernkit.playground.story.previews.comparisons import compare_runs
from tavernkit.playground.story.previews.explanations import ExplainedPrompt
from tavernkit.playground.story.previews.service import Change, KeptPrompt, PreviewKind, PromptChange
from tavernkit.playground.story.previews.source_links import LinkKind, SourceLink
from tavernkit.playground.story.prompting.cast import Platform
from tavernkit.playground.story.prompting.records import REUSE
from tavernkit.prompt.causes import CauseCode
from tavernkit.prompt.comparing import ChangeKind, TextChange
from tavernkit.prompt.parts import LoreCause


class LoreSourceOut(BaseModel):
    """An entry of a lorebook in a block."""

    model_config = ConfigDict(from_attributes=True)

    book: str
    entry: str = Field(description="Its id in the book.")
    name: str
    cause: LoreCause | None = Field(description="Why it is activated; `recursion` is a key in another entry.")
    key: str | None = Field(description="The key that activated it.")


class PromptPictureOut(BaseModel):
    """A picture in a block; of a request that is shown, only its hash and its size are in its place."""

    model_config = ConfigDict(from_attributes=True)

    sha256: str
    media_type: str
    bytes: int
    width: int | None
    height: int | None
    title: str
    tokens: int


class BlockOut(Document):
    """One block of a prompt."""

    sha256: str = Field(description="Of the content: the same text has the same one in every prompt.")
    role: str
    name: str | None = Field(description="Who says it.")
    slot: str | None = Field(description="Which part of the prompt it is.")
    source: dict[str, Any] = Field(description="Where it came from: the preset, the card, an entry, a message.")
    lore: list[LoreSourceOut] = Field(description="The entries of lorebooks in it.")
    pictures: list[PromptPictureOut]
    tokens: int
    content: str


class RequestOut(BaseModel):
    """What goes to the provider, as the dialect writes it: `messages`, or else `prompt`."""

    provider: str
    kind: str
    dialect: str
    generation_type: str = Field(description="What SillyTavern calls this kind of reply.")
    model: str
    messages: list[dict[str, Any]]
    prompt: str | dict[str, Any] | None
    max_tokens: int | None
    temperature: float | None
    stop: list[str]
    options: dict[str, Any] = Field(description="Further fields of the request.")


class EvictionOut(BaseModel):
    """A block that did not fit."""

    slot: str | None
    tokens: int
    reason: str
    group: str | None
    source: dict[str, Any]


class TrimmingOut(BaseModel):
    """How the prompt was brought down to its budget."""

    strategy: str
    budget_tokens: int
    initial_tokens: int
    final_tokens: int
    evictions: list[EvictionOut]


class WarningOut(BaseModel):
    """Something odd that was met on the way."""

    code: str
    message: str
    stage: str | None


class VerdictOut(BaseModel):
    """What became of an entry of a lorebook that woke up, or almost did."""

    book: str
    entry: str
    name: str
    reason: str = Field(description="For programs; `activated` is in the prompt.")
    sentence: str = Field(description="For people.")


class StageOut(BaseModel):
    """One stage of a build."""

    name: str
    duration_ms: float = Field(description="Its own time, without the stages inside it.")


class PrefixBreakOut(BaseModel):
    """Where a prompt differs first from the one before it."""

    message: int = Field(description="Which block of the prompt; 0 in a text completion, which is one text.")
    offset: int = Field(description="How many characters of it are the same.")
    role: str
    source: dict[str, Any] | None = Field(description="Where the text comes from that stands there now.")
    replaced: dict[str, Any] | None = Field(description="Where the text came from that stood there before.")
    common: str = Field(description="The end of what both have in common.")
    before: str = Field(description="What the prompt before goes on with.")
    after: str = Field(description="What this prompt goes on with.")


class PromptReuseOut(BaseModel):
    """How much of a prompt the provider could have taken from its cache."""

    before: UUID = Field(description="The run of the last prompt of this conversation to the same model.")
    common_tokens: int = Field(description="With so many tokens both prompts begin alike.")
    total_tokens: int
    share: float
    broken_by: PrefixBreakOut | None = Field(description="Null where one is the beginning of the other.")


class SentPromptOut(Document):
    """A prompt."""

    run_id: UUID | None = Field(description="The run that sent it; null for one that was not sent.")
    fingerprint: str = Field(description="The same for the same request.")
    request: RequestOut
    blocks: list[BlockOut]
    trimming: TrimmingOut | None
    warnings: list[WarningOut]
    platform: Platform = Field(description="Whose rules the prompt was built by.")
    lore: list[VerdictOut] = Field(description="At most 200, those in the prompt first.")
    stages: list[StageOut] = Field(description="How long each stage of the build took; none for a preview.")
    reuse: PromptReuseOut | None = Field(
        description="What it has in common with the prompt before; null where there was none."
    )

    @classmethod
    def of(cls, kept: KeptPrompt) -> Self:
        report = kept.report
        return cls.of_row(
            kept,
            blocks=[BlockOut.of_row(block) for block in kept.blocks],
            trimming=report["trimming"],
            warnings=report["warnings"],
            # Prompts of earlier versions have kept none of these.
            lore=report.get("lore", []),
            platform=report.get("platform", "sillytavern"),
            stages=report.get("stages", []),
            reuse=report.get(REUSE),
        )


class PromptChangeOut(BaseModel):
    """A block of two prompts that are compared."""

    change: Change
    block: BlockOut

    @classmethod
    def of(cls, change: PromptChange) -> Self:
        return cls(change=change.change, block=BlockOut.of_row(change.block))


class TextRangeOut(BaseModel):
    """Characters of a message of an explanation."""

    message: int
    start: int
    end: int


class CauseOut(BaseModel):
    """Why something has changed."""

    code: str
    sentence: str


class CausedChangeOut(BaseModel):
    """A stretch of text that is only in one of two prompts, another one, or in another place."""

    kind: ChangeKind
    code: CauseCode = Field(description="The cause, as the page Explaining lists them.")
    cause: str
    source: str
    role: str
    removed: str = ""
    added: str = ""
    before: TextRangeOut | None = Field(default=None, description="Where it is in the explanation of the other run.")
    after: TextRangeOut | None = Field(default=None, description="Where it is in the explanation of this run.")
    also: list[CauseOut] = Field(default=[], description="Other causes that may have had a part in it.")

    @classmethod
    def of(cls, change: TextChange) -> Self:
        return cls.model_validate(presentable(to_builtins(change)))


class ComparisonOut(BaseModel):
    """What one prompt has that another has not."""

    before: UUID = Field(description="The run that is compared with.")
    after: UUID
    changes: list[PromptChangeOut] = Field(description="The blocks of both, in their order.")
    causes: list[CausedChangeOut] = Field(description="What has changed in the texts, and why.")


class SpanOut(BaseModel):
    """A stretch of a message, and where it comes from."""

    text: str
    source: dict[str, Any] = Field(description="`kind` says what it is; the fields are those of the page Explaining.")


class ExplainedMessageOut(BaseModel):
    """A message of a prompt; the texts of its spans, one after the other, are its content."""

    model_config = ConfigDict(extra="allow")

    role: str = Field(description="`prompt` for a text completion.")
    content: str
    spans: list[SpanOut]


class SourceLinkOut(BaseModel):
    """The row that a source is."""

    model_config = ConfigDict(extra="allow")

    source: dict[str, Any] = Field(description="As spans name it, without `through`.")
    kind: LinkKind = Field(description="What the row is; its ids stand beside it, such as `lorebook_id` and `uid`.")
    may_change: bool
    url: str = Field(description="The page on which it is changed, or read.")

    @classmethod
    def of(cls, link: SourceLink) -> Self:
        fields = {name: value for name, value in msgspec.to_builtins(link).items() if name != "ids"}
        return cls.model_validate(presentable({**fields, **link.ids, "url": source_address(link)}))


class ExplanationOut(BaseModel):
    """Where every character of a prompt comes from."""

    model_config = ConfigDict(extra="allow")

    messages: list[ExplainedMessageOut]
    links: list[SourceLinkOut] = Field(description="Of the sources that you may open, each once.")

    @classmethod
    def of(cls, explained: ExplainedPrompt) -> Self:
        links = [SourceLinkOut.of(link) for link in explained.links]
        return cls.model_validate({**presentable(explained.explanation.to_dict()), "links": links})


class PreviewIn(StrictModel):
    """Which prompt to look at."""

    speaker_id: UUID | None = Field(default=None, description="A member; without one, whoever would speak next.")
    kind: PreviewKind | None = Field(
        default=None, description="Without one, `normal` for a character and `impersonate` for a person."
    )


router = APIRouter(tags=["prompts"])

RunId = Annotated[UUID, Path(description="The run.")]
Other = Annotated[UUID, Query(alias="with", description="The run whose prompt it is compared with.")]


@router.get("/runs/{run_id}/prompt", responses=documented())
async def show_prompt(caller: ApiCaller, run_id: RunId) -> SentPromptOut:
    """The prompt that a run has sent, with where each part came from and what was left out."""
    return SentPromptOut.of(await service.read_prompt(*caller, run_id))


@router.get("/runs/{run_id}/explanation", responses=documented())
async def explain_prompt(caller: ApiCaller, run_id: RunId) -> ExplanationOut:
    """Where every character of the prompt comes from that a run has sent."""
    return ExplanationOut.of(await explanations.read_explained(*caller, run_id))


@router.get("/runs/{run_id}/prompt/compare", responses=documented())
async def compare_prompts(caller: ApiCaller, run_id: RunId, other: Other) -> ComparisonOut:
    """What has changed from another run's prompt to this one's: block by block, and in the texts with the causes."""
    changes = await service.compare_prompts(*caller, other, run_id)
    comparison = await compare_runs(*caller, other, run_id)
    return ComparisonOut(
        before=other,
        after=run_id,
        changes=[PromptChangeOut.of(change) for change in changes],
        causes=[CausedChangeOut.of(change) for change in comparison.changes],
    )


@router.post("/conversations/{conversation_id}/preview", responses=documented(409))
async def preview_prompt(caller: ApiCaller, conversation_id: ConversationId, body: PreviewIn) -> SentPromptOut:
    """The prompt that would be sent now. No model is asked, and nothing is written."""
    prompt = await service.preview_prompt(*caller, conversation_id, speaker_id=body.speaker_id, kind=body.kind)
    return SentPromptOut.of(prompt)


@router.post("/conversations/{conversation_id}/preview/explanation", responses=documented(409))
async def explain_preview(caller: ApiCaller, conversation_id: ConversationId, body: PreviewIn) -> ExplanationOut:
    """Where every character of the prompt comes from that would be sent now. No model is asked."""
    explained = await explanations.preview_explanation(
        *caller, conversation_id, speaker_id=body.speaker_id, kind=body.kind
    )
    return ExplanationOut.of(explained)
