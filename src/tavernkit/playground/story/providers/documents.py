"""Providers as JSON: what one is made from, changed by, and looks like."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeAlias
from uuid import UUID

from msgspec import structs
from pydantic import BaseModel, Field, GetPydanticSchema, SecretStr, SkipValidation
from pydantic_core import core_schema

from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.llm.base import ModelErrorCode
from tavernkit.playground.base.llm.http_model import Timeouts
from tavernkit.playground.base.llm.kinds import PROVIDER_KINDS, ProviderKind, kind_of
from tavernkit.playground.base.schemas import Document, StrictModel, patching, showing
from tavernkit.playground.base.storable import presentable

Name = Annotated[str, Field(min_length=1, max_length=200)]


BaseUrl = Annotated[
    str, Field(max_length=2000, description="Where its API begins, such as `http://127.0.0.1:11434/v1`.")
]


ApiKey = Annotated[SecretStr, Field(min_length=1, max_length=2000)]


Model = Annotated[str, Field(max_length=200, description="The model's name, as the provider knows it.")]


ContextTokens = Annotated[int, Field(ge=256, le=100_000_000, description="How much the model reads at once.")]


ResponseTokens = Annotated[int, Field(ge=1, le=10_000_000, description="How long a reply may be.")]


Fields = Annotated[
    dict[str, Any],
    Field(
        description="Further fields of every request to the provider, such as `min_p`; null takes one away. `dialect` "
        "is no such field: it names the dialect that prompts are written in, in place of the usual one."
    ),
]


def _id_of(*kinds: ProviderKind) -> GetPydanticSchema:
    """The id of one of these kinds, as a `Literal` of them would be read and documented."""
    return GetPydanticSchema(lambda _type, _handler: core_schema.literal_schema([kind.id for kind in kinds]))


KindId = Annotated[str, _id_of(*PROVIDER_KINDS.values())]


RemoteKindId = Annotated[str, _id_of(*(kind for kind in PROVIDER_KINDS.values() if not kind.is_built_in))]


_USUAL = Timeouts()


def _seconds(usual: float, most: float, about: str) -> Any:
    return Field(default=usual, ge=0.1, le=most, allow_inf_nan=False, description=f"Seconds {about}.")


class TimeoutsIn(StrictModel):
    """How long to wait for a provider before giving up."""

    connect: float = _seconds(_USUAL.connect, 300, "for the connection")
    first_byte: float = _seconds(_USUAL.first_byte, 3600, "for the headers and for the first bytes")
    between_chunks: float = _seconds(_USUAL.between_chunks, 3600, "between any two pieces of a reply")
    whole: float = _seconds(_USUAL.whole, 86_400, "for all of a reply, even one that keeps coming")

    @classmethod
    def of(cls, row: Provider) -> Self:
        usual = structs.asdict(kind_of(row).timeouts)
        return cls(**{name: row.timeouts.get(name, usual[name]) for name in cls.model_fields})

    def unusual(self, kind: ProviderKind) -> dict[str, float]:
        """What is stored: the rest follows what is usual for the kind, should that change."""
        given = self.model_dump(exclude_unset=True)
        return {name: seconds for name, seconds in given.items() if seconds != getattr(kind.timeouts, name)}


SeesPictures: TypeAlias = Literal["auto", "yes", "no"]


class ProviderFields(StrictModel):
    name: Name
    base_url: BaseUrl = Field(default="", description="Where its API begins; empty is the one of who made the API.")
    model: Model
    context_tokens: ContextTokens = 8192
    response_tokens: ResponseTokens = 512
    settings: Fields = {}
    streamable: bool = Field(default=True, description="Off for a server that can only answer in one piece.")
    sees_pictures: SeesPictures = Field(
        default="auto",
        description="Whether it is sent pictures of messages; `auto` is decided by the model's name.",
    )
    timeouts: TimeoutsIn = Field(default=TimeoutsIn(), description="All of them; those not named become the usual.")


class NewProvider(ProviderFields):
    kind: RemoteKindId
    api_key: ApiKey | None = Field(default=None, description="It is stored encrypted and is never given again.")


@patching
class PatchProvider(ProviderFields):
    settings_version: int = Field(ge=0, le=2**31 - 1, description="The version that was read.")
    api_key: ApiKey | None = Field(
        default=None,
        description="A new key, or null to forget it. An address on another server needs this field as well.",
    )
    disabled: bool | None = Field(default=None, description="Nobody can use a provider that is disabled.")


class ProviderSummary(Document):
    """A provider in a list."""

    id: UUID
    name: str
    kind: KindId
    model: str
    is_default: bool = Field(description="Whether it answers where nobody has chosen.")
    disabled: bool

    @classmethod
    def of(cls, row: Provider) -> Self:
        return cls.of_row(row)


@showing
class ProviderOut(ProviderFields, ProviderSummary):
    """A provider, for administrators."""

    has_key: bool = Field(description="Whether a key is stored.")
    has_tokenizer: bool = Field(description="Whether prompts for it are counted with a tokenizer file of its own.")
    last_tested_at: datetime | None = Field(description="When a test succeeded last.")
    settings_version: int
    created_at: datetime

    @classmethod
    def of(cls, row: Provider) -> Self:
        return cls.of_row(
            row,
            # The one from the environment may hold a password.
            base_url=without_credentials(row.base_url),
            has_key=row.api_key is not None,
            has_tokenizer=row.tokenizer_sha256 is not None,
            settings=presentable(row.settings),
            timeouts=TimeoutsIn.of(row),
        )


class Problem(BaseModel):
    """Why a provider did not answer."""

    code: ModelErrorCode
    # As it is, so that a page can translate it.
    sentence: SkipValidation[str]
    status: int | None = Field(default=None, description="The HTTP status that the provider gave.")


class TrialOut(BaseModel):
    """What became of a test: a tiny question to the model."""

    ok: bool
    milliseconds: int = Field(description="Until the first word, or until it was clear that none comes.")
    problem: Problem | None = None


class ModelsOut(BaseModel):
    """The models that a provider says it has; none where it could not be asked."""

    models: list[str]
    problem: Problem | None = None
