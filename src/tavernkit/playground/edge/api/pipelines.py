"""Profiles, where they are followed, running and trying them, and what became of it, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from tavernkit.playground.base.database.models import PipelineChoice
from tavernkit.playground.base.paging import behind_name, behind_time
from tavernkit.playground.base.schemas import Document, StrictModel
from tavernkit.playground.edge.api.files import json_download
from tavernkit.playground.edge.api.jobs import JobOut
from tavernkit.playground.edge.api.requests import After, ApiCaller, ConversationId, Limit, Page, documented, page
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.story.dry_runs.dry_run import ask_dry_run
from tavernkit.playground.story.dry_runs.manual import run_pipelines
from tavernkit.playground.story.pipelines import choosing, queries, service
from tavernkit.playground.story.pipelines.checking import check_content
from tavernkit.playground.story.pipelines.documents import (
    AddExample,
    Choose,
    NewProfile,
    PatchProfile,
    ProfileOut,
    ProfilePlace,
    ProfileSummary,
)
from tavernkit.playground.story.pipelines.reports import (
    DryRun,
    PipelineRunOut,
    RunPipelines,
    list_pipeline_runs,
    read_pipeline_run,
)
from tavernkit.playground.story.pipelines.service import MAX_FILE_BYTES, exported


class CheckProfile(StrictModel):
    content: Annotated[Any, Field(description="What would be the content of a profile.")]


class ProblemOut(Document):
    """Something that is wrong with a profile, or is probably not meant."""

    path: str = Field(description="Where, such as `pipelines[0].steps[2].kind`; empty for the whole.")
    severity: Literal["error", "warning"] = Field(description="With an error a profile is not saved.")
    message: str


class CheckOut(BaseModel):
    """What is wrong with a content; nothing, if it can be used as it stands."""

    problems: list[ProblemOut]


class ChoiceOut(BaseModel):
    """What was chosen at a place."""

    chosen: bool = Field(description="False where wider places decide.")
    profile_id: UUID | None = Field(description="The profile that is followed; null for none.")

    @classmethod
    def of(cls, row: PipelineChoice | None) -> Self:
        return cls(chosen=row is not None, profile_id=None if row is None else row.profile_id)


router = APIRouter(prefix="/pipeline_profiles", tags=["pipelines"])
choices_router = APIRouter(prefix="/pipeline_choices", tags=["pipelines"])

At = Annotated[ProfilePlace, Query()]


@router.get("", responses=documented())
async def list_profiles(caller: ApiCaller, limit: Limit = 50, after: After = None) -> Page[ProfileSummary]:
    """Your profiles and those that are everybody's, by name."""
    rows = await caller.read(queries.profiles_page, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, ProfileSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
@takes(MAX_FILE_BYTES)
async def create_profile(caller: ApiCaller, new: NewProfile) -> ProfileOut:
    """Make a profile."""
    return ProfileOut.with_content(*await service.create_profile(*caller, new))


@router.post("/check", responses=documented())
@takes(MAX_FILE_BYTES)
async def check_profile(caller: ApiCaller, check: CheckProfile) -> CheckOut:
    """Everything that is wrong with a profile, without saving it."""
    checked = await check_content(check.content, caller.runtime.functions)
    return CheckOut(problems=[ProblemOut.of_row(problem) for problem in checked.problems])


@router.get("/{profile_id}", responses=documented())
async def show_profile(caller: ApiCaller, profile_id: UUID) -> ProfileOut:
    """A profile as it is now."""
    async with caller.runtime.database.read() as session:
        profile = await queries.profile_for(session, caller.viewer, profile_id)
        return ProfileOut.with_content(profile, await queries.version_of(session, profile))


@router.get("/{profile_id}/export", response_class=Response, responses=documented())
async def export_profile(caller: ApiCaller, profile_id: UUID) -> Response:
    """The profile as a file that the library reads, and that can be imported again."""
    async with caller.runtime.database.read() as session:
        profile = await queries.profile_for(session, caller.viewer, profile_id)
        version = await queries.version_of(session, profile)
    return json_download(profile.name, exported(profile, version.content))


@router.patch("/{profile_id}", responses=documented(409))
@takes(MAX_FILE_BYTES)
async def edit_profile(caller: ApiCaller, profile_id: UUID, patch: PatchProfile) -> ProfileOut:
    """Change a profile: its next version."""
    return ProfileOut.with_content(*await service.edit_profile(*caller, profile_id, patch))


@router.delete("/{profile_id}", status_code=204, responses=documented(409))
async def delete_profile(caller: ApiCaller, profile_id: UUID) -> None:
    """Move a profile that is followed nowhere to the trash."""
    await service.delete_profile(*caller, profile_id)


@choices_router.get("", responses=documented())
async def show_choice(caller: ApiCaller, place: At) -> ChoiceOut:
    """What was chosen in a conversation, with a character, in a space, or for everything of yours."""
    return ChoiceOut.of(await choosing.chosen_at(*caller, place))


@choices_router.put("", responses=documented(409))
async def choose_profile(caller: ApiCaller, new: Choose) -> ChoiceOut:
    """Follow a profile at such a place, or none; the nearest choice counts."""
    return ChoiceOut.of(await choosing.choose_profile(*caller, new))


@choices_router.post("/add", responses=documented(409))
async def add_example(caller: ApiCaller, new: AddExample) -> ProfileOut:
    """Follow an example beside what is followed at such a place, in one profile of yours that holds both."""
    return ProfileOut.with_content(*await service.add_example(*caller, new))


@choices_router.delete("", status_code=204, responses=documented(409))
async def forget_choice(caller: ApiCaller, place: At) -> None:
    """Let wider places decide again."""
    await choosing.forget_choice(*caller, place)


runs_router = APIRouter(tags=["pipelines"])


@runs_router.post("/pipeline_profiles/{profile_id}/dry_run", status_code=202, responses=documented(409))
async def try_profile(caller: ApiCaller, profile_id: UUID, new: DryRun) -> JobOut:
    """Try a profile on a conversation: models are asked, and nothing is written. The job's result tells each step."""
    return JobOut.of(await ask_dry_run(*caller, profile_id, new))


@runs_router.post("/conversations/{conversation_id}/pipeline_runs", status_code=202, responses=documented(409, 423))
async def start_pipelines(caller: ApiCaller, conversation_id: ConversationId, new: RunPipelines) -> PipelineRunOut:
    """Run the pipelines that have the trigger `api` once, without a reply."""
    known = await run_pipelines(
        *caller, conversation_id, trigger="api", request_id=new.request_id, pipelines=new.pipelines
    )
    return PipelineRunOut.of(known.run, known.job)


@runs_router.get("/conversations/{conversation_id}/pipeline_runs", responses=documented())
async def list_runs(
    caller: ApiCaller, conversation_id: ConversationId, limit: Limit = 50, after: After = None
) -> Page[PipelineRunOut]:
    """What became of the pipelines of a conversation, the newest run first."""
    runs = await list_pipeline_runs(*caller, conversation_id, after=behind_time(after), limit=limit + 1)
    return page(
        runs,
        limit,
        lambda known: PipelineRunOut.of(known.run, known.job),
        lambda known: (known.run.created_at.isoformat(), str(known.run.id)),
    )


@runs_router.get("/pipeline_runs/{pipeline_run_id}", responses=documented())
async def show_run(caller: ApiCaller, pipeline_run_id: UUID) -> PipelineRunOut:
    """What became of the pipelines around a reply, or of those that were run alone."""
    known = await read_pipeline_run(*caller, pipeline_run_id)
    return PipelineRunOut.of(known.run, known.job)
