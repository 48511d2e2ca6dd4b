"""Profiles and choices as the API takes and gives them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field

from tavernkit.artifacts.pipelines import ProfileProblem
from tavernkit.playground.base.database.models import PipelineChoice
from tavernkit.playground.base.schemas import StrictModel


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
