"""All routes of the application, joined."""

from __future__ import annotations

from collections import deque
from functools import cached_property

from fastapi import APIRouter
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from tavernkit.playground.edge.api.accounts import router as accounts_api
from tavernkit.playground.edge.api.administration import router as administration_api
from tavernkit.playground.edge.api.artifacts import router as artifacts_api
from tavernkit.playground.edge.api.characters import router as characters_api
from tavernkit.playground.edge.api.chatfiles import router as chatfiles_api
from tavernkit.playground.edge.api.conversations import branches_router as branches_api
from tavernkit.playground.edge.api.conversations import router as conversations_api
from tavernkit.playground.edge.api.exports import router as exports_api
from tavernkit.playground.edge.api.files import router as blobs_api
from tavernkit.playground.edge.api.imports import router as imports_api
from tavernkit.playground.edge.api.injections import router as injections_api
from tavernkit.playground.edge.api.jobs import router as jobs_api
from tavernkit.playground.edge.api.lorebooks import links_router as lorebook_links_api
from tavernkit.playground.edge.api.lorebooks import router as lorebooks_api
from tavernkit.playground.edge.api.macros import router as macros_api
from tavernkit.playground.edge.api.members import router as members_api
from tavernkit.playground.edge.api.messages import router as messages_api
from tavernkit.playground.edge.api.paths import global_router as global_variables_api
from tavernkit.playground.edge.api.paths import router as state_api
from tavernkit.playground.edge.api.personas import conversation_router as persona_locks_api
from tavernkit.playground.edge.api.personas import router as personas_api
from tavernkit.playground.edge.api.pipelines import choices_router as pipeline_choices_api
from tavernkit.playground.edge.api.pipelines import router as pipeline_profiles_api
from tavernkit.playground.edge.api.pipelines import runs_router as pipeline_runs_api
from tavernkit.playground.edge.api.presets import router as presets_api
from tavernkit.playground.edge.api.prompting import router as prompts_api
from tavernkit.playground.edge.api.providers import router as providers_api
from tavernkit.playground.edge.api.quick_replies import conversation_router as quick_replies_used_api
from tavernkit.playground.edge.api.quick_replies import router as quick_replies_api
from tavernkit.playground.edge.api.replaying import router as replaying_api
from tavernkit.playground.edge.api.requests import documented
from tavernkit.playground.edge.api.runs import router as runs_api
from tavernkit.playground.edge.api.scripts import router as scripts_api
from tavernkit.playground.edge.api.search import router as search_api
from tavernkit.playground.edge.api.settings import router as settings_api
from tavernkit.playground.edge.api.shared_links import router as shared_links_api
from tavernkit.playground.edge.api.shares import router as shares_api
from tavernkit.playground.edge.api.spaces import router as spaces_api
from tavernkit.playground.edge.api.toggles import router as toggles_api
from tavernkit.playground.edge.api.trash import router as trash_api
from tavernkit.playground.edge.api.usage import router as usage_api
from tavernkit.playground.edge.health import health
from tavernkit.playground.edge.models_api.api import router as models
from tavernkit.playground.edge.pages.accounts import router as accounts
from tavernkit.playground.edge.pages.administration import router as administration
from tavernkit.playground.edge.pages.artifacts import router as artifacts
from tavernkit.playground.edge.pages.card_checks import router as card_checks
from tavernkit.playground.edge.pages.characters import router as characters
from tavernkit.playground.edge.pages.conversations import router as conversations
from tavernkit.playground.edge.pages.conversations import tree_router as tree
from tavernkit.playground.edge.pages.documentation import router as documentation
from tavernkit.playground.edge.pages.dry_runs import router as dry_runs
from tavernkit.playground.edge.pages.exports import router as exports
from tavernkit.playground.edge.pages.home import router as home
from tavernkit.playground.edge.pages.imports import router as imports
from tavernkit.playground.edge.pages.inspector import router as inspector
from tavernkit.playground.edge.pages.installing import router as installing
from tavernkit.playground.edge.pages.joining import router as joining
from tavernkit.playground.edge.pages.lorebook_links import router as lorebook_links
from tavernkit.playground.edge.pages.lorebooks import panel_router as lore_tab
from tavernkit.playground.edge.pages.lorebooks import router as lorebooks
from tavernkit.playground.edge.pages.macros import router as macros
from tavernkit.playground.edge.pages.members import router as members_tab
from tavernkit.playground.edge.pages.messages import router as messages
from tavernkit.playground.edge.pages.personas import router as personas
from tavernkit.playground.edge.pages.pipelines import router as pipelines
from tavernkit.playground.edge.pages.pipelines_panel import router as pipelines_tab
from tavernkit.playground.edge.pages.preferences import router as preferences
from tavernkit.playground.edge.pages.preset_parts import router as preset_parts
from tavernkit.playground.edge.pages.presets import router as presets
from tavernkit.playground.edge.pages.prompt_panel import router as prompt_tab
from tavernkit.playground.edge.pages.providers import router as providers
from tavernkit.playground.edge.pages.quick_replies import router as quick_replies
from tavernkit.playground.edge.pages.runs import router as runs
from tavernkit.playground.edge.pages.scripts import router as scripts
from tavernkit.playground.edge.pages.search import router as search
from tavernkit.playground.edge.pages.settings import router as settings_tab
from tavernkit.playground.edge.pages.shared_links import router as shared_links
from tavernkit.playground.edge.pages.shares import router as shares
from tavernkit.playground.edge.pages.spaces import router as spaces
from tavernkit.playground.edge.pages.trash import router as trash
from tavernkit.playground.edge.pages.turns import router as turns
from tavernkit.playground.edge.pages.usage import panel_router as usage_tab
from tavernkit.playground.edge.pages.usage import router as usage
from tavernkit.playground.edge.pages.what_if import router as what_if
from tavernkit.playground.edge.web.bodies import GuardedRoute, guarded
from tavernkit.playground.edge.web.requests import API_PREFIX

PAGES = (
    *(accounts, preferences, home, conversations, characters, card_checks, providers, messages, runs, inspector, turns),
    *(lorebooks, lorebook_links, presets, preset_parts, macros, scripts, personas, quick_replies),
    *(members_tab, settings_tab, lore_tab, prompt_tab, pipelines_tab, usage_tab, usage, tree, spaces, joining),
    *(shares, shared_links),
    *(dry_runs, what_if, pipelines, artifacts, imports, exports, trash, search, administration, documentation),
    installing,
)
NOUNS = (
    *(accounts_api, spaces_api, members_api, conversations_api, branches_api, messages_api, runs_api, prompts_api),
    replaying_api,
    *(toggles_api, injections_api, state_api, global_variables_api, artifacts_api, settings_api, chatfiles_api),
    *(characters_api, blobs_api, shares_api, shared_links_api),
    *(lorebooks_api, lorebook_links_api, presets_api, macros_api, scripts_api, personas_api, persona_locks_api),
    *(quick_replies_api, quick_replies_used_api, pipeline_profiles_api, pipeline_choices_api),
    *(pipeline_runs_api, providers_api, jobs_api, imports_api, exports_api, trash_api, search_api, usage_api),
    administration_api,
)
"""Of the JSON API."""


class _Noun(APIRouter):
    """Routes that are tried only for an address that begins like one of theirs: the framework tries hundreds in turn,
    which takes longer than some answers."""

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(_beginning(route.path) for route in self.routes if isinstance(route, APIRoute))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if _beginning(scope["path"].removeprefix(API_PREFIX)) not in self._beginnings:
            return Match.NONE, {}
        return super().matches(scope)


def _noun(router: APIRouter) -> APIRouter:
    """The router of a noun, guarded and tried only where it may match. No route of ours begins with a parameter."""
    router.__class__ = _Noun
    return guarded(router)


def _beginning(path: str) -> str:
    return path[1:].split("/", 1)[0]


def api_router() -> APIRouter:
    """The JSON API under one prefix; any of its routes may refuse, and says so in the same form."""
    router = APIRouter(prefix=API_PREFIX, responses=documented(409))
    for noun in NOUNS:
        router.include_router(_noun(noun))
    return router


def _routes() -> list[BaseRoute]:
    """All routes. They take longer to make than all the rest of an application, and say the same in each."""
    router = APIRouter(route_class=GuardedRoute)
    for part in (*PAGES, models):
        router.include_router(_noun(part))
    router.include_router(api_router())
    router.add_api_route("/health", health)
    # Otherwise the framework makes handlers when the first request looks for one, and everybody waits.
    deque(iter_route_contexts(router.routes), maxlen=0)
    return router.routes


ROUTES = _routes()
