"""All routes of the JSON API, noun by noun."""

from __future__ import annotations

from fastapi import APIRouter

from tavernkit.playground.accounts.api import router as accounts
from tavernkit.playground.api.errors import documented
from tavernkit.playground.artifacts.api import router as artifacts
from tavernkit.playground.blobs.api import router as blobs
from tavernkit.playground.characters.api import router as characters
from tavernkit.playground.chatfiles.api import router as chatfiles
from tavernkit.playground.conversations.api import router as conversations
from tavernkit.playground.conversations.forking_api import router as branches
from tavernkit.playground.jobs.api import router as jobs
from tavernkit.playground.lorebooks.api import links_router as lorebook_links
from tavernkit.playground.lorebooks.api import router as lorebooks
from tavernkit.playground.members.api import router as members
from tavernkit.playground.messages.api import router as messages
from tavernkit.playground.paths.api import global_router as global_variables
from tavernkit.playground.paths.api import router as state
from tavernkit.playground.personas.api import router as personas
from tavernkit.playground.pipelines.api import choices_router as pipeline_choices
from tavernkit.playground.pipelines.api import router as pipeline_profiles
from tavernkit.playground.pipelines.runs_api import router as pipeline_runs
from tavernkit.playground.presets.api import router as presets
from tavernkit.playground.prompting.api import router as prompts
from tavernkit.playground.providers.api import router as providers
from tavernkit.playground.runs.api import router as runs
from tavernkit.playground.settings.api import router as settings
from tavernkit.playground.spaces.api import router as spaces
from tavernkit.playground.web.bodies import guarded

__all__ = ["PREFIX", "api_router"]

PREFIX = "/api/v1"
_NOUNS = (
    *(accounts, spaces, members, conversations, branches, messages, runs, prompts, state, global_variables, artifacts),
    *(settings, chatfiles, characters, blobs, lorebooks, lorebook_links, presets, personas),
    *(pipeline_profiles, pipeline_choices, pipeline_runs, providers, jobs),
)


def api_router() -> APIRouter:
    """The routes under one prefix; any of them may refuse, and says so in the same form."""
    router = APIRouter(prefix=PREFIX, responses=documented(409))
    for noun in _NOUNS:
        router.include_router(guarded(noun))
    return router
