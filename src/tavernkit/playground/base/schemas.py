"""Documents that come in from outside and go out again, and how those of a noun derive from one model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

M = TypeVar("M", bound=BaseModel)


class StrictModel(BaseModel):
    """A document that has no fields but those it names."""

    model_config = ConfigDict(extra="forbid")


class Document(BaseModel):
    """A row, or another value, as JSON."""

    model_config = ConfigDict(extra="ignore")

    @classmethod
    def of_row(cls, row: object, **more: object) -> Self:
        """What `row` has under the names of the fields, and `more` in place of it."""
        return cls.model_validate({name: getattr(row, name) for name in cls.model_fields if name not in more} | more)


class StoredDocument(Document):
    """A row with an id, and when it was made and changed last."""

    id: UUID
    created_at: datetime
    updated_at: datetime


def patching(cls: type[M]) -> type[M]:
    """Makes of a class below a model what changes one: fields that it inherits may be left out, or be null."""
    return derived(cls, _optional)


def showing(cls: type[M]) -> type[M]:
    """Makes of a class below a model what shows a stored one: fields that it inherits are there, without limits."""
    return derived(cls, lambda field: (field.annotation, Field(description=field.description)))


def _optional(field: FieldInfo) -> Any:
    kind: Any = field.annotation
    return Annotated[kind | None, Field(description=field.description), *field.metadata], None


def derived(cls: type[M], changed: Callable[[FieldInfo], Any]) -> type[M]:
    """The class with the fields that it inherits from strict models `changed`: each a type and a default."""
    given = dict.fromkeys(name for base in cls.__bases__ if issubclass(base, StrictModel) for name in base.model_fields)
    fields = {name: changed(cls.model_fields[name]) for name in given if name not in cls.__annotations__}
    return create_model(cls.__name__, __base__=cls, __doc__=cls.__doc__, __module__=cls.__module__, **fields)
