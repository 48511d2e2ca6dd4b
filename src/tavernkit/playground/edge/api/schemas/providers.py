"""Providers as the API takes and gives them. A key goes in and never comes out."""

from __future__ import annotations

from uuid import UUID

from tavernkit.playground.story.providers.documents import (
    In,
)


class DefaultProvider(In):
    """Who answers where nobody has chosen."""

    provider_id: UUID
