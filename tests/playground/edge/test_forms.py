"""What is wrong with a field is said in the words of the page."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tavernkit.playground.base.languages import Sentence
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.web.forms import understood, whole_number


class Note(BaseModel):
    title: str = Field(default="A note", min_length=1, max_length=5)
    depth: int = Field(default=0, ge=0, le=1_000)
    share: float = Field(default=0.5, gt=0)
    role: Literal["system", "user"] = "system"
    tags: list[str] = Field(default=[], max_length=1)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"title": ""}, "Title is required."),
        ({"title": "A long one"}, "Title must have at most 5 characters."),
        ({"depth": "-1"}, "Depth must be at least 0."),
        ({"depth": "1001"}, "Depth must be at most 1,000."),
        ({"depth": "deep"}, "Depth must be a whole number."),
        ({"share": "0"}, "share must be more than 0.0."),
        ({"share": "half"}, "share must be a number."),
        ({"role": "narrator"}, "Role must be one of: 'system' or 'user'."),
        (
            {"title": b"\xff"},
            "Title is not valid: Input should be a valid string, unable to parse raw data as a unicode",
        ),
    ],
)
def test_a_refused_field_says_what_it_takes(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        understood(Note, **fields)
    assert isinstance(refused.value.sentence, Sentence)
    assert refused.value.sentence.startswith(sentence)


def test_a_number_out_of_range_says_the_range() -> None:
    with pytest.raises(Refused) as refused:
        whole_number("1200", name="Rounds", least=0, most=1_000)
    assert refused.value.sentence == "Rounds must be a whole number from 0 to 1,000."
