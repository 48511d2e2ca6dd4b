"""Profiles, and where they are followed, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from tavernkit.artifacts.pipelines import ProfileProblem
from tavernkit.playground.base.database.models import PipelineChoice
from tavernkit.playground.base.paging import behind_name
from tavernkit.playground.base.schemas import StrictModel
from tavernkit.playground.edge.api.files import json_download
from tavernkit.playground.edge.api.requests import After, ApiViewer, Limit, Page, documented, page
from tavernkit.playground.edge.web.bodies import takes
from tavernkit.playground.edge.web.requests import AppRuntime
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
from tavernkit.playground.story.pipelines.service import MAX_FILE_BYTES, exported


class CheckProfile(StrictModel):
    content: Annotated[Any, Field(description="What would be the content of a profile.")]


class ProblemOut(BaseModel):
    """Something that is wrong with a profile, or is probably not meant."""

    path: str = Field(description="Where, such as `pipelines[0].steps[2].kind`; empty for the whole.")
    severity: Literal["error", "warning"] = Field(description="With an error a profile is not saved.")
    message: str

    @classmethod
    def of(cls, problem: ProfileProblem) -> Self:
        return cls(path=problem.path, severity=problem.severity, message=problem.message)


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
async def list_profiles(
    running: AppRuntime, asked: ApiViewer, limit: Limit = 50, after: After = None
) -> Page[ProfileSummary]:
    """Your profiles and those that are everybody's, by name."""
    async with running.database.read() as session:
        rows = await queries.profiles_page(session, asked, behind=behind_name(after), limit=limit + 1)
    return page(rows, limit, ProfileSummary.of, lambda row: (row.name, str(row.id)))


@router.post("", status_code=201, responses=documented(409))
@takes(MAX_FILE_BYTES)
async def create_profile(running: AppRuntime, asked: ApiViewer, new: NewProfile) -> ProfileOut:
    """Make a profile."""
    return ProfileOut.with_content(*await service.create_profile(running, asked, new))


@router.post("/check", responses=documented())
@takes(MAX_FILE_BYTES)
async def check_profile(running: AppRuntime, _: ApiViewer, check: CheckProfile) -> CheckOut:
    """Everything that is wrong with a profile, without saving it."""
    checked = await check_content(check.content, running.functions)
    return CheckOut(problems=[ProblemOut.of(problem) for problem in checked.problems])


@router.get("/{profile_id}", responses=documented())
async def show_profile(running: AppRuntime, asked: ApiViewer, profile_id: UUID) -> ProfileOut:
    """A profile as it is now."""
    async with running.database.read() as session:
        profile = await queries.profile_for(session, asked, profile_id)
        return ProfileOut.with_content(profile, await queries.version_of(session, profile))


@router.get("/{profile_id}/export", response_class=Response, responses=documented())
async def export_profile(running: AppRuntime, asked: ApiViewer, profile_id: UUID) -> Response:
    """The profile as a file that the library reads, and that can be imported again."""
    async with running.database.read() as session:
        profile = await queries.profile_for(session, asked, profile_id)
        version = await queries.version_of(session, profile)
    return json_download(profile.name, exported(profile, version.content))


@router.patch("/{profile_id}", responses=documented(409))
@takes(MAX_FILE_BYTES)
async def edit_profile(running: AppRuntime, asked: ApiViewer, profile_id: UUID, patch: PatchProfile) -> ProfileOut:
    """Change a profile: its next version."""
    return ProfileOut.with_content(*await service.edit_profile(running, asked, profile_id, patch))


@router.delete("/{profile_id}", status_code=204, responses=documented(409))
async def delete_profile(running: AppRuntime, asked: ApiViewer, profile_id: UUID) -> None:
    """Delete a profile that is followed nowhere."""
    await service.delete_profile(running, asked, profile_id)


@choices_router.get("", responses=documented())
async def show_choice(running: AppRuntime, asked: ApiViewer, place: At) -> ChoiceOut:
    """What was chosen in a conversation, with a character, in a space, or for everything of yours."""
    return ChoiceOut.of(await choosing.chosen_at(running, asked, place))


@choices_router.put("", responses=documented(409))
async def choose_profile(running: AppRuntime, asked: ApiViewer, new: Choose) -> ChoiceOut:
    """Follow a profile at such a place, or none; the nearest choice counts."""
    return ChoiceOut.of(await choosing.choose_profile(running, asked, new))


@choices_router.post("/add", responses=documented(409))
async def add_example(running: AppRuntime, asked: ApiViewer, new: AddExample) -> ProfileOut:
    """Follow an example beside what is followed at such a place, in one profile of yours that holds both."""
    return ProfileOut.with_content(*await service.add_example(running, asked, new))


@choices_router.delete("", status_code=204, responses=documented(409))
async def forget_choice(running: AppRuntime, asked: ApiViewer, place: At) -> None:
    """Let wider places decide again."""
    await choosing.forget_choice(running, asked, place)
