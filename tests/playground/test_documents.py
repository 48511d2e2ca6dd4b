"""What makes, changes, shows and types a noun derives from one model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated
from uuid import uuid4

import pytest
from pydantic import Field, ValidationError

from tavernkit.playground.base.schemas import Document, StrictModel, patching, showing
from tavernkit.playground.edge.web.forms import filled_in, typed


class NewBoat(StrictModel):
    name: Annotated[str, Field(min_length=1, max_length=10, description="As it is painted.")]
    masts: int = 2
    is_afloat: bool = False


@patching
class PatchBoat(NewBoat):
    version: int


@showing
class BoatOut(NewBoat, Document):
    id: str


@typed
class BoatForm(NewBoat):
    pass


def test_a_patch_may_leave_out_every_field_of_its_model_and_keeps_their_limits() -> None:
    patch = PatchBoat.model_validate({"version": 1, "masts": None})
    assert patch.model_dump(exclude_unset=True) == {"version": 1, "masts": None}
    with pytest.raises(ValidationError, match="at least 1 character"):
        PatchBoat.model_validate({"version": 1, "name": ""})
    with pytest.raises(ValidationError, match="version"):
        PatchBoat.model_validate({"name": "Argo"})
    with pytest.raises(ValidationError, match="Extra inputs"):
        PatchBoat.model_validate({"version": 1, "sails": 3})


def test_a_view_shows_what_is_stored_even_beyond_the_limits_of_new_ones() -> None:
    row = SimpleNamespace(id=uuid4(), name="Argo of the Argonauts", masts=1, is_afloat=True, secret="oak")
    shown = BoatOut.of_row(row, id=str(row.id))
    assert shown.model_dump() == {"id": str(row.id), "name": "Argo of the Argonauts", "masts": 1, "is_afloat": True}
    schema = BoatOut.model_json_schema(mode="serialization")
    assert sorted(schema["required"]) == ["id", "is_afloat", "masts", "name"]
    assert schema["properties"]["name"] == {"description": "As it is painted.", "title": "Name", "type": "string"}


def test_a_form_holds_the_defaults_of_its_model_as_texts_in_boxes() -> None:
    assert BoatForm.model_validate({}).model_dump() == {"name": "", "masts": "2", "is_afloat": ""}
    row = SimpleNamespace(name="Argo\r\nII", masts=3, is_afloat=True)
    assert filled_in(BoatForm, row).model_dump() == {"name": "Argo\nII", "masts": "3", "is_afloat": "on"}
