"""What the documents that come in from outside share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A document that has no fields but those it names."""

    model_config = ConfigDict(extra="forbid")
