"""Who may do what: every route, asked by everybody.

A person is told 404 about what they must not know of, in the very words that are used for what does not exist; 403
about what they may look at but not change; 401, or on pages the way to the sign-in, if they have not said who they are.
Whatever is refused leaves the database as it was.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import pytest
import schemathesis
from schemathesis.schemas import BaseSchema

from tavernkit.playground.edge.web.requests import API_PREFIX
from tests.playground.accounts.installation import PASSWORD
from tests.playground.api.rewinding import RewindableDatabase
from tests.playground.api.routes import Route, all_routes, api_alone
from tests.playground.api.world import PEOPLE, PIPELINES, Person, Things, World, a_file, backup_file, open_world
from tests.playground.characters.builders import json_card, picture
from tests.prompt.tokens.test_tokenizer_file import byte_level_bpe

pytestmark = pytest.mark.anyio

# What the people are told; `yes` is any answer that is no refusal, `in` the way to the sign-in page.
OUTCOMES = {
    #                             owner key moderator member other administrator anonymous
    "read a space":              "yes   yes yes       yes    404   yes           401",
    "read what is shown there":  "yes   yes yes       yes    404   404           401",
    "take part":                 "yes   yes yes       yes    404   yes           401",
    "speak":                     "yes   yes yes       yes    404   403           401",
    "moderate":                  "yes   yes yes       403    404   yes           401",
    "run a space":               "yes   yes 403       403    404   yes           401",
    "use one's own":             "yes   yes 404       404    404   404           401",
    "have things":               "yes   yes yes       yes    yes   yes           401",
    "manage one's account":      "yes   403 yes       yes    yes   yes           401",
    "change one's account":      "yes   403 404       404    404   404           401",
    "run the site":              "403   403 403       403    403   yes           401",
    "come in":                   "yes   yes yes       yes    yes   yes           yes",
    "talk to a model":           "yes   yes yes       yes    404   404           401",
    "see one's page":            "yes   yes 404       404    404   404           in",
    "read on a page":            "yes   yes yes       yes    404   yes           in",
    "moderate on a page":        "yes   yes yes       403    404   yes           in",
    "run a space on a page":     "yes   yes 403       403    404   yes           in",
    "use one's own on a page":   "yes   yes 404       404    404   404           in",
    "speak on a page":           "yes   yes yes       yes    404   403           in",
    "take part on a page":       "yes   yes yes       yes    404   yes           in",
    "see pages":                 "yes   yes yes       yes    yes   yes           in",
    "see one's account":         "yes   403 yes       yes    yes   yes           in",
    "run the site on a page":    "403   403 403       403    403   yes           in",
    "share one's own":           "403   403 404       404    404   404           401",
    "share one's own on a page": "403   403 404       404    404   404           in",
}  # fmt: skip

TABLE = {
    "share one's own": ["POST /presets/{preset_id}/share"],
    "share one's own on a page": ["POST /presets/{preset_id}/share (page)"],
    "come in": [
        "POST /sessions", "POST /users", "POST /password_resets", "GET /health (page)", "GET /docs (page)",
        "GET /docs/{name} (page)", "GET /manifest.webmanifest (page)", "GET /service-worker.js (page)",
        "GET /offline (page)",
        "GET /shared/{token} (page)", "GET /shared/{token}/branches/{branch} (page)",
        "GET /shared/{token}/pictures/{sha256} (page)",
    ],
    "manage one's account": [
        "PATCH /me", "GET /sessions", "DELETE /sessions", "GET /api_keys", "POST /api_keys", "POST /me/password",
        "PATCH /me/appearance", "PATCH /me/shortcuts",
    ],
    "see one's account": [
        "GET /appearance (page)", "POST /appearance (page)", "POST /appearance/reset (page)",
        "GET /keys (page)", "POST /keys (page)", "POST /keys/reset (page)",
    ],
    "change one's account": ["DELETE /sessions/{session_id}", "DELETE /api_keys/{key_id}"],
    "run the site": [
        "GET /invitations", "POST /invitations", "DELETE /invitations/{invitation_id}",
        "GET /users", "GET /users/{user_id}", "PATCH /users/{user_id}", "DELETE /users/{user_id}/sessions",
        "POST /users/{user_id}/password_reset", "PUT /admin/users/{user_id}/limits",
        "GET /admin/storage", "GET /admin/health", "GET /admin/jobs", "POST /admin/jobs/{job_id}/cancel",
        "POST /admin/jobs/{job_id}/retry", "GET /admin/backups", "POST /admin/backups", "POST /admin/backups/upload",
        "GET /admin/backup_plan", "PUT /admin/backup_plan", "GET /admin/backups/{backup}/file",
        "GET /admin/backups/{backup}/check", "DELETE /admin/backups/{backup}", "POST /admin/backups/{backup}/restore",
        "GET /admin/restore", "DELETE /admin/restore", "GET /admin/usage", "GET /admin/prices", "PUT /admin/prices",
        "GET /admin/prices/export", "POST /admin/prices/import",
        "DELETE /admin/prices", "GET /admin/limits", "PUT /admin/limits",
        "POST /providers", "PUT /providers/default", "GET /providers/{provider_id}", "PATCH /providers/{provider_id}",
        "PUT /providers/{provider_id}/tokenizer", "DELETE /providers/{provider_id}/tokenizer",
        "DELETE /providers/{provider_id}", "POST /providers/{provider_id}/test", "GET /providers/{provider_id}/models",
        "GET /retention", "PUT /retention", "POST /retention/sweep",
    ],
    "have things": [
        "POST /space_invitations/accept",
        "GET /public_conversations",
        "GET /me/appearance", "GET /me/shortcuts",
        "GET /usage", "GET /usage/export", "GET /prices", "PUT /prices", "GET /prices/export",
        "GET /budgets", "PUT /budgets",
        "GET /me", "GET /search", "GET /schemas/settings", "GET /spaces", "POST /spaces", "GET /jobs", "GET /providers",
        "GET /characters", "POST /characters", "POST /characters/new", "POST /characters/check",
        "POST /characters/import",
        "GET /lorebooks", "POST /lorebooks", "POST /lorebooks/import",
        "GET /presets", "POST /presets", "POST /presets/import", "GET /presets/default", "PUT /presets/default",
        "GET /macros",
        "GET /personas", "POST /personas", "POST /personas/import", "GET /personas/export",
        "GET /quick_replies", "POST /quick_replies", "POST /quick_replies/import",
        "GET /pipeline_profiles", "POST /pipeline_profiles", "POST /pipeline_profiles/check",
        "GET /variables", "PUT /variables/{name}", "GET /scripts", "POST /scripts/test",
        "GET /imports", "POST /imports", "POST /exports", "GET /trash", "DELETE /trash",
        "GET /v1/models (page)",
    ],
    "use one's own": [
        "GET /shares", "POST /shares", "DELETE /shares/{share_id}",
        "DELETE /prices", "DELETE /budgets/{budget_id}",
        "POST /pipeline_choices/add", "DELETE /variables/{name}",
        "GET /characters/{character_id}", "PATCH /characters/{character_id}", "DELETE /characters/{character_id}",
        "POST /characters/{character_id}/duplicate", "GET /characters/{character_id}/versions",
        "GET /characters/{character_id}/versions/{number}", "POST /characters/{character_id}/restore",
        "GET /characters/{character_id}/export", "PUT /characters/{character_id}/avatar",
        "PUT /characters/{character_id}/tags",
        "GET /characters/{character_id}/chats/export", "POST /characters/{character_id}/chats/import",
        "POST /characters/{character_id}/assets", "PATCH /characters/{character_id}/assets/{asset_id}",
        "DELETE /characters/{character_id}/assets/{asset_id}",
        "POST /characters/{character_id}/assets/{asset_id}/main",
        "GET /lorebooks/{lorebook_id}", "PATCH /lorebooks/{lorebook_id}", "DELETE /lorebooks/{lorebook_id}",
        "POST /lorebooks/{lorebook_id}/duplicate", "GET /lorebooks/{lorebook_id}/export",
        "GET /lorebooks/{lorebook_id}/entries", "POST /lorebooks/{lorebook_id}/entries",
        "POST /lorebooks/{lorebook_id}/entries/bulk", "GET /lorebooks/{lorebook_id}/activations",
        "POST /lorebooks/{lorebook_id}/test",
        "PUT /lorebooks/{lorebook_id}/entries/order", "POST /lorebooks/{lorebook_id}/entries/toggle",
        "GET /lorebooks/{lorebook_id}/entries/{entry_id}", "PATCH /lorebooks/{lorebook_id}/entries/{entry_id}",
        "DELETE /lorebooks/{lorebook_id}/entries/{entry_id}",
        "POST /lorebooks/{lorebook_id}/entries/{entry_id}/duplicate",
        "GET /lorebook_links", "POST /lorebook_links", "PATCH /lorebook_links/{link_id}",
        "DELETE /lorebook_links/{link_id}",
        "GET /presets/{preset_id}", "PATCH /presets/{preset_id}", "DELETE /presets/{preset_id}",
        "POST /presets/{preset_id}/duplicate", "GET /presets/{preset_id}/export", "GET /presets/{preset_id}/prompts",
        "POST /presets/{preset_id}/prompts", "PUT /presets/{preset_id}/prompts/order",
        "PATCH /presets/{preset_id}/prompts/{identifier}", "DELETE /presets/{preset_id}/prompts/{identifier}",
        "DELETE /presets/{preset_id}/prompts/order", "POST /presets/{preset_id}/prompts/{identifier}/reset",
        "GET /presets/{preset_id}/original", "POST /presets/{preset_id}/restore", "POST /presets/{preset_id}/render",
        "GET /presets/{preset_id}/tokens",
        "GET /scripts/{scope}/{holder_id}", "POST /scripts/{scope}/{holder_id}",
        "POST /scripts/{scope}/{holder_id}/import", "GET /scripts/{scope}/{holder_id}/export",
        "GET /scripts/{scope}/{holder_id}/{kind}/{place}", "PATCH /scripts/{scope}/{holder_id}/{kind}/{place}",
        "DELETE /scripts/{scope}/{holder_id}/{kind}/{place}", "POST /scripts/{scope}/{holder_id}/{kind}/{place}/copy",
        "GET /personas/{persona_id}", "PATCH /personas/{persona_id}", "DELETE /personas/{persona_id}",
        "POST /personas/{persona_id}/duplicate", "PUT /personas/{persona_id}/picture",
        "DELETE /personas/{persona_id}/picture", "GET /personas/{persona_id}/connections",
        "POST /personas/{persona_id}/connections", "DELETE /personas/{persona_id}/connections/{connection_id}",
        "GET /quick_replies/{set_id}", "PATCH /quick_replies/{set_id}", "DELETE /quick_replies/{set_id}",
        "POST /quick_replies/{set_id}/duplicate", "GET /quick_replies/{set_id}/export",
        "POST /quick_replies/{set_id}/buttons", "PUT /quick_replies/{set_id}/buttons/order",
        "PATCH /quick_replies/{set_id}/buttons/{button_id}", "DELETE /quick_replies/{set_id}/buttons/{button_id}",
        "POST /quick_replies/{set_id}/buttons/{button_id}/duplicate",
        "GET /quick_replies/{set_id}/places", "PUT /quick_replies/{set_id}/places",
        "DELETE /quick_replies/{set_id}/places",
        "POST /conversations/{conversation_id}/quick_replies/{set_id}/{button_id}",
        "GET /pipeline_profiles/{profile_id}", "PATCH /pipeline_profiles/{profile_id}",
        "DELETE /pipeline_profiles/{profile_id}", "GET /pipeline_profiles/{profile_id}/export",
        "POST /pipeline_profiles/{profile_id}/dry_run",
        "GET /jobs/{job_id}", "GET /jobs/{job_id}/files", "POST /jobs/{job_id}/cancel",
        "DELETE /pictures/{picture_id}",
        "GET /imports/{import_id}", "DELETE /imports/{import_id}", "PUT /imports/{import_id}/files",
        "POST /imports/{import_id}/missing_files",
        "POST /imports/{import_id}/scan", "GET /imports/{import_id}/items",
        "POST /trash/{kind}/{item_id}/restore", "DELETE /trash/{kind}/{item_id}",
        "PUT /imports/{import_id}/items/{position}/choice", "POST /imports/{import_id}/start",
        "POST /imports/{import_id}/pause", "GET /imports/{import_id}/report",
        "GET /exports/{job_id}", "GET /exports/{job_id}/file", "GET /exports/{job_id}/report",
    ],
    "read a space": [
        "GET /spaces/{space_id}", "GET /spaces/{space_id}/members", "GET /members/{member_id}",
        "GET /spaces/{space_id}/settings", "GET /members/{member_id}/settings",
        "GET /spaces/{space_id}/conversations", "GET /conversations/{conversation_id}",
        "GET /conversations/{conversation_id}/tree", "GET /conversations/{conversation_id}/messages",
        "GET /conversations/{conversation_id}/state", "GET /conversations/{conversation_id}/variables",
        "GET /conversations/{conversation_id}/persona",
        "GET /conversations/{conversation_id}/settings", "GET /conversations/{conversation_id}/export",
        "GET /conversations/{conversation_id}/artifacts",
        "GET /conversations/{conversation_id}/artifacts/{tag}/versions", "GET /pipeline_choices",
        "GET /conversations/{conversation_id}/pipeline_runs", "GET /pipeline_runs/{pipeline_run_id}",
        "GET /messages/{message_id}", "GET /messages/{message_id}/swipes",
        "GET /conversations/{conversation_id}/turns", "GET /conversations/{conversation_id}/runs", "GET /runs/{run_id}",
        "GET /runs/{run_id}/prompt", "GET /runs/{run_id}/prompt/compare", "GET /runs/{run_id}/explanation",
        "POST /runs/{run_id}/replay", "POST /runs/{run_id}/what_if",
        "POST /conversations/{conversation_id}/what_if", "POST /conversations/{conversation_id}/what_if/next",
        "POST /conversations/{conversation_id}/preview", "POST /conversations/{conversation_id}/preview/explanation",
        "GET /conversations/{conversation_id}/injections",
        "GET /conversations/{conversation_id}/toggles",
        "PUT /spaces/{space_id}/pin", "DELETE /spaces/{space_id}/pin", "PUT /spaces/{space_id}/tags",
        "PUT /conversations/{conversation_id}/read_position",
    ],
    "read what is shown there": ["GET /characters/{character_id}/avatar", "GET /blobs/{sha256}"],
    "take part": [
        "POST /spaces/{space_id}/conversations", "POST /conversations/{conversation_id}/fork",
        "PUT /conversations/{conversation_id}/variables/{name}",
        "DELETE /conversations/{conversation_id}/variables/{name}",
        "PUT /conversations/{conversation_id}/injections/{name}",
        "DELETE /conversations/{conversation_id}/injections/{name}",
        "POST /conversations/{conversation_id}/artifacts/reset",
        "POST /conversations/{conversation_id}/artifacts/{tag}/restore",
        "POST /conversations/{conversation_id}/pipeline_runs", "POST /conversations/{conversation_id}/pictures",
        "POST /messages/{message_id}/exclude", "POST /messages/{message_id}/include",
        "PUT /messages/{message_id}/active_swipe",
        "POST /conversations/{conversation_id}/generate", "POST /conversations/{conversation_id}/continue",
        "POST /conversations/{conversation_id}/regenerate", "POST /conversations/{conversation_id}/retry",
        "POST /runs/{run_id}/stop", "POST /runs/{run_id}/keep", "POST /runs/{run_id}/discard",
        "POST /conversations/{conversation_id}/round/pause", "POST /conversations/{conversation_id}/round/resume",
        "POST /conversations/{conversation_id}/round/skip", "POST /conversations/{conversation_id}/round/stop",
        "PUT /conversations/{conversation_id}/round", "PUT /conversations/{conversation_id}/auto-mode",
    ],
    "speak": [
        "POST /conversations/{conversation_id}/impersonate", "PUT /conversations/{conversation_id}/copilot",
        "POST /conversations/{conversation_id}/candidates",
        "POST /conversations/{conversation_id}/messages", "PUT /conversations/{conversation_id}/persona",
    ],
    "moderate": [
        "PATCH /members/{member_id}",
        "PATCH /messages/{message_id}", "POST /messages/{message_id}/hide", "POST /messages/{message_id}/restore",
        "POST /messages/{message_id}/swipes", "PATCH /messages/{message_id}/swipes/{swipe_id}",
        "DELETE /messages/{message_id}/swipes/{swipe_id}",
        "PATCH /conversations/{conversation_id}", "PATCH /conversations/{conversation_id}/settings",
        "PUT /pipeline_choices", "DELETE /pipeline_choices",
    ],
    "run a space": [
        "POST /spaces/{space_id}/invitations", "DELETE /space_invitations/{space_invitation_id}",
        "PUT /spaces/{space_id}/owner", "GET /spaces/{space_id}/invitations",
        "GET /conversations/{conversation_id}/shared_links", "POST /conversations/{conversation_id}/shared_links",
        "DELETE /shared_links/{shared_link_id}",
        "PATCH /spaces/{space_id}", "DELETE /spaces/{space_id}", "PATCH /spaces/{space_id}/settings",
        "POST /spaces/{space_id}/members", "PUT /spaces/{space_id}/members/order",
        "DELETE /members/{member_id}", "PATCH /members/{member_id}/settings",
        "DELETE /conversations/{conversation_id}", "POST /spaces/{space_id}/conversations/import",
        "PUT /conversations/{conversation_id}/toggles/{key}", "POST /spaces/{space_id}/settings/import",
        "PUT /spaces/{space_id}/background", "POST /spaces/{space_id}/background",
        "DELETE /spaces/{space_id}/background",
    ],
    "talk to a model": ["GET /v1/models/{model_id} (page)", "POST /v1/chat/completions (page)"],
    "run the site on a page": [
        "GET /models/new (page)", "POST /models (page)", "GET /models/{provider_id} (page)",
        "POST /models/{provider_id} (page)", "POST /models/{provider_id}/test (page)",
        "POST /models/{provider_id}/list (page)", "POST /models/{provider_id}/default (page)",
        "POST /models/{provider_id}/switch (page)", "POST /models/{provider_id}/delete (page)",
        "POST /models/{provider_id}/tokenizer (page)", "POST /models/{provider_id}/tokenizer/remove (page)",
        "GET /retention (page)", "POST /retention (page)", "POST /retention/sweep (page)",
        "GET /admin (page)", "GET /admin/users (page)", "GET /admin/users/{user_id} (page)",
        "POST /admin/users/{user_id}/role (page)", "POST /admin/users/{user_id}/status (page)",
        "POST /admin/users/{user_id}/sign-out (page)", "POST /admin/users/{user_id}/reset (page)",
        "POST /admin/users/{user_id}/limits (page)", "GET /admin/invitations (page)", "POST /admin/invitations (page)",
        "POST /admin/invitations/{invitation_id}/revoke (page)", "GET /admin/storage (page)", "GET /admin/jobs (page)",
        "POST /admin/jobs/{job_id}/cancel (page)", "POST /admin/jobs/{job_id}/retry (page)",
        "GET /admin/backups (page)", "POST /admin/backups (page)", "GET /admin/backups/progress (page)",
        "POST /admin/backups/plan (page)", "POST /admin/backups/upload (page)",
        "POST /admin/backups/keep-current (page)", "GET /admin/backups/{backup} (page)",
        "POST /admin/backups/{backup}/restore (page)", "POST /admin/backups/{backup}/delete (page)",
        "GET /admin/usage (page)", "POST /admin/prices (page)", "POST /admin/prices/remove (page)",
        "POST /admin/prices/import (page)",
        "GET /admin/limits (page)", "POST /admin/limits (page)",
    ],
    "see pages": [
        "GET /join/{code} (page)", "POST /join/{code} (page)",
        "GET /usage (page)", "POST /usage/prices (page)", "POST /usage/prices/import (page)",
        "POST /usage/budgets (page)",
        "GET / (page)", "GET /archive (page)", "GET /public (page)", "GET /search (page)", "GET /spaces/new (page)",
        "GET /palette.json (page)", "GET /models (page)", "GET /trash (page)", "POST /trash/empty (page)",
        "GET /lorebooks (page)", "POST /lorebooks (page)", "POST /lorebooks/import (page)",
        "GET /scripts (page)", "POST /scripts/test (page)",
        "GET /presets (page)", "POST /presets/import (page)", "POST /presets/default (page)",
        "POST /presets (page)", "GET /macros (page)",
        "GET /personas (page)", "GET /personas/new (page)", "POST /personas (page)", "POST /personas/import (page)",
        "GET /quick-replies (page)", "POST /quick-replies (page)", "POST /quick-replies/import (page)",
        "GET /pipelines (page)", "POST /pipelines (page)", "POST /pipelines/import (page)",
        "POST /pipelines/examples (page)",
        "GET /import (page)", "POST /import (page)", "GET /export (page)", "POST /export (page)",
        "GET /characters (page)", "POST /characters/imports (page)",
        "GET /characters/new (page)", "POST /characters/new (page)",
        "POST /characters/check (page)", "POST /characters/preview (page)"],
    "use one's own on a page": [
        "POST /usage/prices/remove (page)", "POST /usage/budgets/{budget_id}/remove (page)",
        "POST /conversations/{conversation_id}/panel/usage/budgets/{budget_id}/remove (page)",
        "POST /trash/{kind}/{item_id}/restore (page)", "POST /trash/{kind}/{item_id}/delete (page)",
        "POST /shares (page)", "POST /shares/{share_id}/remove (page)",
        "POST /pipelines/examples/add (page)",
        "POST /conversations/{conversation_id}/panel/lore (page)",
        "POST /conversations/{conversation_id}/panel/lore/{link_id} (page)",
        "POST /conversations/{conversation_id}/panel/lore/{link_id}/detach (page)",
        "POST /spaces (page)", "POST /spaces/new (page)",
        "POST /scripts/{scope}/{holder_id}/import (page)", "POST /scripts/{scope}/{holder_id}/{kind}/order (page)",
        "POST /scripts/{scope}/{holder_id}/{kind} (page)", "POST /scripts/{scope}/{holder_id}/{kind}/{place} (page)",
        "POST /scripts/{scope}/{holder_id}/{kind}/{place}/enabled (page)",
        "POST /scripts/{scope}/{holder_id}/{kind}/{place}/duplicate (page)",
        "POST /scripts/{scope}/{holder_id}/{kind}/{place}/delete (page)",
        "POST /scripts/{scope}/{holder_id}/{kind}/{place}/copy (page)",
        "POST /lorebooks/{lorebook_id} (page)", "POST /lorebooks/{lorebook_id}/delete (page)",
        "POST /lorebooks/{lorebook_id}/duplicate (page)", "POST /lorebooks/{lorebook_id}/test (page)",
        "POST /lorebook_links (page)", "POST /lorebook_links/{link_id} (page)",
        "POST /lorebook_links/{link_id}/detach (page)",
        "POST /lorebooks/{lorebook_id}/entries/bulk (page)", "POST /lorebooks/{lorebook_id}/entries/move (page)",
        "POST /lorebooks/{lorebook_id}/entries/test (page)",
        "POST /lorebooks/{lorebook_id}/entries (page)", "POST /lorebooks/{lorebook_id}/entries/{entry_id} (page)",
        "POST /lorebooks/{lorebook_id}/entries/{entry_id}/enabled (page)",
        "POST /lorebooks/{lorebook_id}/entries/{entry_id}/duplicate (page)",
        "POST /lorebooks/{lorebook_id}/entries/{entry_id}/delete (page)",
        "POST /presets/{preset_id} (page)", "POST /presets/{preset_id}/delete (page)",
        "POST /presets/{preset_id}/duplicate (page)", "POST /presets/{preset_id}/prompts/enabled (page)",
        "POST /presets/{preset_id}/prompts/move (page)", "POST /presets/{preset_id}/rendering (page)",
        "POST /presets/{preset_id}/original (page)", "POST /presets/{preset_id}/orders (page)",
        "POST /presets/{preset_id}/orders/delete (page)", "POST /presets/{preset_id}/prompts (page)",
        "POST /presets/{preset_id}/prompts/edit (page)", "POST /presets/{preset_id}/prompts/reset (page)",
        "POST /presets/{preset_id}/prompts/delete (page)", "POST /presets/{preset_id}/cards (page)",
        "POST /presets/{preset_id}/cards/move (page)", "POST /presets/{preset_id}/cards/{place} (page)",
        "POST /presets/{preset_id}/cards/{place}/delete (page)",
        "POST /personas/{persona_id} (page)", "POST /personas/{persona_id}/default (page)",
        "POST /personas/{persona_id}/picture (page)", "POST /personas/{persona_id}/picture/remove (page)",
        "POST /personas/{persona_id}/delete (page)", "POST /personas/{persona_id}/duplicate (page)",
        "POST /personas/{persona_id}/connections (page)",
        "POST /personas/{persona_id}/connections/{connection_id}/remove (page)",
        "POST /quick-replies/{set_id} (page)", "POST /quick-replies/{set_id}/delete (page)",
        "POST /quick-replies/{set_id}/duplicate (page)", "POST /quick-replies/{set_id}/enabled (page)",
        "POST /quick-replies/{set_id}/places (page)", "POST /quick-replies/{set_id}/places/remove (page)",
        "POST /quick-replies/{set_id}/buttons (page)", "POST /quick-replies/{set_id}/buttons/move (page)",
        "POST /quick-replies/{set_id}/buttons/{button_id} (page)",
        "POST /quick-replies/{set_id}/buttons/{button_id}/duplicate (page)",
        "POST /quick-replies/{set_id}/buttons/{button_id}/delete (page)",
        "POST /conversations/{conversation_id}/quick-replies/{set_id}/{button_id} (page)",
        "POST /pipelines/{profile_id} (page)", "POST /pipelines/{profile_id}/check (page)",
        "POST /pipelines/{profile_id}/duplicate (page)", "POST /pipelines/{profile_id}/delete (page)",
        "POST /pipelines/{profile_id}/dry_run (page)", "POST /pipelines/{profile_id}/dry_run/{job_id}/stop (page)",
        "POST /conversations/{conversation_id}/what-if/{job_id}/stop (page)",
        "POST /pipelines/{profile_id}/on (page)", "POST /pipelines/{profile_id}/off (page)",
        "POST /import/{import_id}/scan (page)", "POST /import/{import_id}/items/{position} (page)",
        "POST /import/{import_id}/start (page)", "POST /import/{import_id}/resume (page)",
        "POST /import/{import_id}/pause (page)", "POST /import/{import_id}/discard (page)",
        "POST /export/{job_id}/stop (page)",
        "POST /characters/imports/{job_id}/stop (page)",
        "POST /characters/imports/{job_id}/files/{position}/version (page)",
        "POST /characters/imports/{job_id}/files/{position}/choose (page)",
        "POST /characters/{character_id}/stories (page)", "POST /characters/{character_id}/chats (page)",
        "POST /characters/{character_id}/edit (page)", "POST /characters/{character_id}/picture (page)",
        "POST /characters/{character_id}/pictures (page)", "POST /characters/{character_id}/lorebook (page)",
        "POST /characters/{character_id}/tags (page)",
        "POST /characters/{character_id}/lorebook/save (page)",
        "POST /characters/{character_id}/pictures/{asset_id} (page)",
        "POST /characters/{character_id}/pictures/{asset_id}/main (page)",
        "POST /characters/{character_id}/pictures/{asset_id}/delete (page)",
        "POST /characters/{character_id}/duplicate (page)", "POST /characters/{character_id}/delete (page)",
        "POST /characters/{character_id}/versions/{number}/restore (page)",
    ],
    "read on a page": [
        "GET /conversations/{conversation_id}/panel/usage (page)",
        "GET /conversations/{conversation_id}/panel/members (page)",
        "GET /conversations/{conversation_id}/panel/settings (page)",
        "GET /conversations/{conversation_id}/panel/lore (page)",
        "GET /conversations/{conversation_id}/panel/prompt (page)",
        "GET /conversations/{conversation_id}/panel/pipelines (page)",
        "GET /conversations/{conversation_id}/panel/runs (page)",
        "GET /conversations/{conversation_id}/panel/state (page)",
        "GET /conversations/{conversation_id}/artifacts/{tag} (page)",
        "GET /conversations/{conversation_id}/tree (page)", "GET /spaces/{space_id} (page)",
        "GET /conversations/{conversation_id}/tree/{node_id} (page)",
        "GET /conversations/{conversation_id}/name (page)", "GET /conversations/{conversation_id}/branches (page)",
        "GET /spaces/{space_id}/stories (page)",
        "POST /spaces/{space_id}/pin (page)", "POST /spaces/{space_id}/tags (page)",
        "GET /runs/{run_id} (page)", "GET /conversations/{conversation_id}/what-if (page)",
        "POST /conversations/{conversation_id}/what-if (page)", "GET /runs/{run_id}/messages/{number} (page)",
        "GET /messages/{message_id}/inspect (page)",
        "GET /conversations/{conversation_id}/preview/messages/{number} (page)",
        "GET /conversations/{conversation_id} (page)", "GET /conversations/{conversation_id}/older (page)",
        "GET /conversations/{conversation_id}/newer (page)", "GET /conversations/{conversation_id}/find.json (page)",
        "GET /conversations/{conversation_id}/copilot (page)", "GET /conversations/{conversation_id}/preview (page)",
        "GET /messages/{message_id} (page)",
    ],
    "see one's page": [
        "GET /shares (page)",
        "GET /lorebooks/{lorebook_id}/links (page)", "GET /lorebook_links (page)",
        "GET /scripts/{scope}/{holder_id} (page)", "GET /scripts/{scope}/{holder_id}/{kind}/new (page)",
        "GET /scripts/{scope}/{holder_id}/{kind}/{place} (page)",
        "GET /lorebooks/{lorebook_id} (page)", "GET /lorebooks/{lorebook_id}/entries/new (page)",
        "GET /lorebooks/{lorebook_id}/entries/{entry_id} (page)",
        "GET /presets/{preset_id}/original (page)", "GET /presets/{preset_id}/prompts/new (page)",
        "GET /presets/{preset_id}/prompts/edit (page)", "GET /presets/{preset_id}/cards/{place} (page)",
        "GET /presets/{preset_id} (page)", "GET /personas/{persona_id} (page)", "GET /pipelines/{profile_id} (page)",
        "GET /quick-replies/{set_id} (page)", "GET /quick-replies/{set_id}/buttons/new (page)",
        "GET /quick-replies/{set_id}/buttons/{button_id} (page)",
        "GET /conversations/{conversation_id}/what-if/{job_id} (page)",
        "GET /conversations/{conversation_id}/what-if/{job_id}/progress (page)",
        "GET /conversations/{conversation_id}/what-if/{job_id}/runs/{run_id} (page)",
        "GET /pipelines/{profile_id}/dry_run (page)", "GET /pipelines/{profile_id}/dry_run/{job_id} (page)",
        "GET /pipelines/{profile_id}/dry_run/{job_id}/progress (page)",
        "GET /import/{import_id} (page)", "GET /import/{import_id}/progress (page)",
        "GET /export/{job_id} (page)", "GET /export/{job_id}/progress (page)",
        "GET /characters/imports/{job_id} (page)", "GET /characters/imports/{job_id}/progress (page)",
        "GET /conversations/{conversation_id}/candidates/{job_id} (page)",
        "GET /characters/{character_id} (page)", "GET /characters/{character_id}/edit (page)",
        "GET /characters/{character_id}/versions (page)", "GET /characters/{character_id}/versions/{number} (page)",
        "GET /characters/{character_id}/delete (page)", "GET /characters/{character_id}/pictures (page)",
        "GET /characters/{character_id}/lorebook (page)",
    ],
    "run a space on a page": [
        "POST /conversations/{conversation_id}/panel/usage/budgets (page)",
        "POST /conversations/{conversation_id}/panel/members/{member_id}/owner (page)",
        "POST /conversations/{conversation_id}/panel/members/invitations/{space_invitation_id}/revoke (page)",
        "POST /conversations/{conversation_id}/panel/members/invitations (page)",
        "POST /conversations/{conversation_id}/panel/members/visibility (page)",
        "GET /conversations/{conversation_id}/links (page)", "POST /conversations/{conversation_id}/links (page)",
        "POST /conversations/{conversation_id}/links/{shared_link_id}/revoke (page)",
        "POST /conversations/{conversation_id}/panel/members (page)",
        "POST /conversations/{conversation_id}/panel/members/{member_id}/remove (page)",
        "POST /conversations/{conversation_id}/panel/members/{member_id}/move (page)",
        "POST /conversations/{conversation_id}/panel/prompt/toggles (page)",
        "POST /conversations/{conversation_id}/panel/prompt/settings (page)",
        "POST /conversations/{conversation_id}/delete (page)",
        "POST /spaces/{space_id} (page)", "POST /spaces/{space_id}/delete (page)",
        "POST /spaces/{space_id}/background (page)", "POST /spaces/{space_id}/background/choose (page)",
        "POST /spaces/{space_id}/import (page)",
    ],
    "moderate on a page": [
        "POST /conversations/{conversation_id}/panel/members/{member_id} (page)",
        "POST /messages/{message_id}/swipes/{swipe_id}/delete (page)",
        "POST /messages/{message_id}/swipes/{swipe_id} (page)",
        "GET /messages/{message_id}/swipes (page)", "POST /messages/{message_id}/swipes (page)",
        "POST /conversations/{conversation_id}/panel/prompt/modules/{module_id} (page)",
        "POST /conversations/{conversation_id}/panel/settings (page)",
        "POST /conversations/{conversation_id}/panel/pipelines (page)",
        "POST /conversations/{conversation_id}/name (page)", "POST /conversations/{conversation_id}/restore (page)",
        "GET /messages/{message_id}/edit (page)", "POST /messages/{message_id} (page)",
        "POST /messages/{message_id}/hide (page)", "POST /messages/{message_id}/restore (page)",
    ],
    "take part on a page": [
        "POST /messages/{message_id}/swipes/{swipe_id}/show (page)",
        "POST /conversations/{conversation_id}/panel/state/variables/delete (page)",
        "POST /conversations/{conversation_id}/panel/state/variables (page)",
        "POST /conversations/{conversation_id}/panel/prompt/injections (page)",
        "POST /conversations/{conversation_id}/panel/prompt/injections/remove (page)",
        "POST /conversations/{conversation_id}/artifacts/{tag}/restore (page)",
        "POST /conversations/{conversation_id}/artifacts/{tag}/reset (page)",
        "POST /spaces/{space_id}/conversations (page)",
        "GET /events (page)", "POST /conversations/{conversation_id}/retry (page)",
        "POST /conversations/{conversation_id}/skip (page)", "POST /conversations/{conversation_id}/generate (page)",
        "POST /conversations/{conversation_id}/round/pause (page)",
        "POST /conversations/{conversation_id}/round/resume (page)",
        "POST /conversations/{conversation_id}/round/skip (page)",
        "POST /conversations/{conversation_id}/round/stop (page)",
        "GET /conversations/{conversation_id}/round (page)", "POST /conversations/{conversation_id}/round (page)",
        "POST /conversations/{conversation_id}/auto-mode (page)",
        "POST /conversations/{conversation_id}/pipelines/run (page)",
        "POST /runs/{run_id}/stop (page)", "POST /runs/{run_id}/keep (page)", "POST /runs/{run_id}/discard (page)",
        "GET /runs/{run_id}/text (page)",
        "POST /messages/{message_id}/swipe (page)", "POST /messages/{message_id}/exclude (page)",
        "POST /messages/{message_id}/include (page)", "POST /messages/{message_id}/branch (page)",
        "POST /messages/{message_id}/checkpoint (page)", "POST /messages/{message_id}/regenerate (page)",
        "POST /messages/{message_id}/continue (page)",
    ],
    "speak on a page": [
        "POST /conversations/{conversation_id}/typing (page)",
        "POST /conversations/{conversation_id}/messages (page)", "POST /conversations/{conversation_id}/copilot (page)",
        "POST /conversations/{conversation_id}/candidates (page)",
        "POST /conversations/{conversation_id}/panel/members/persona (page)",
    ],
}  # fmt: skip
"""Every route under what one must be allowed to for it."""

EXPECTED = {
    route: dict(zip(PEOPLE, OUTCOMES[right].split(), strict=True))
    for right, routes in TABLE.items()
    for route in routes
}


class Ask(NamedTuple):
    """What is sent along; `{…}` is the id of a thing of the owner's."""

    json: Any = None
    files: Any = None
    data: Any = None
    query: str = ""
    path: str | None = None
    needs: tuple[str, ...] = ()


PRICES = {"items": [{"model": "tiny", "prompt_price": 1, "completion_price": 2, "cached_price": 0.5}]}
SETTINGS = {"settings_version": 0, "settings": {"llm": {"top_k": 40}}}
CHAT = json.dumps({"user_name": "Sam", "character_name": "Ada"}) + "\n" + json.dumps({"name": "Ada", "mes": "Hm?"})

REQUESTS = {
    "POST /trash/{kind}/{item_id}/restore": Ask(path="/trash/lorebook/{trashed_id}/restore"),
    "DELETE /trash/{kind}/{item_id}": Ask(path="/trash/lorebook/{trashed_id}"),
    "POST /trash/{kind}/{item_id}/restore (page)": Ask(path="/trash/lorebook/{trashed_id}/restore"),
    "POST /trash/{kind}/{item_id}/delete (page)": Ask(path="/trash/lorebook/{trashed_id}/delete"),
    "PATCH /me/appearance": Ask(json={"scheme": "sepia"}),
    "PATCH /me/shortcuts": Ask(json={"keys": {"help": "F2"}}),
    "POST /appearance (page)": Ask(data={"version": "0", "scheme": "dark"}),
    "POST /keys (page)": Ask(data={"id": "help", "key": "F2"}),
    "GET /usage": Ask(query="?by=model"),
    "GET /usage/export": Ask(query="?by=day&days=7&format=csv"),
    "PUT /prices": Ask(json=PRICES),
    "DELETE /prices": Ask(query="?model={own_priced}"),
    "POST /admin/prices/import": Ask(json=PRICES),
    "PUT /budgets": Ask(json={"period": "month", "cost": 5}),
    "POST /usage/prices (page)": Ask(data={"model": "tiny", "prompt_price": "1", "completion_price": "2"}),
    "POST /usage/prices/remove (page)": Ask(data={"model": "{own_priced}"}),
    "POST /usage/prices/import (page)": Ask(files=a_file(json.dumps(PRICES).encode(), "prices.json")),
    "POST /admin/prices/import (page)": Ask(files=a_file(json.dumps(PRICES).encode(), "prices.json")),
    "POST /usage/budgets (page)": Ask(data={"period": "month", "cost": "5"}),
    "POST /conversations/{conversation_id}/panel/usage/budgets (page)": Ask(data={"period": "month", "cost": "5"}),
    "PUT /retention": Ask(json={"trash_days": 7}),
    "POST /retention (page)": Ask(data={"trash_days": "7", "event_days": "1"}),
    "POST /password_resets": Ask(json={"code": "{reset_code}", "password": PASSWORD}),
    "PUT /admin/users/{user_id}/limits": Ask(json={"tokens": 1000, "cost": None}),
    "POST /admin/jobs/{job_id}/retry": Ask(path="/admin/jobs/{failed_export_id}/retry"),
    "POST /admin/backups/upload": Ask(files=a_file(backup_file(), "backup.zip")),
    "PUT /admin/backup_plan": Ask(json={"every_hours": 24, "keep": 3}),
    "PUT /admin/prices": Ask(json={"model": "tiny", "prompt_price": 1, "completion_price": 2}),
    "DELETE /admin/prices": Ask(query="?model={priced}"),
    "PUT /admin/limits": Ask(json={"tokens": 1000, "cost": 1}),
    "POST /admin/users/{user_id}/role (page)": Ask(data={"role": "moderator"}),
    "POST /admin/users/{user_id}/status (page)": Ask(data={"status": "inactive"}),
    "POST /admin/users/{user_id}/limits (page)": Ask(data={"tokens": "1000", "cost": ""}),
    "POST /admin/jobs/{job_id}/retry (page)": Ask(path="/admin/jobs/{failed_export_id}/retry"),
    "POST /admin/backups/plan (page)": Ask(data={"every_hours": "24", "keep": "3"}),
    "POST /admin/backups/upload (page)": Ask(files=a_file(backup_file(), "backup.zip")),
    "POST /admin/prices (page)": Ask(data={"model": "tiny", "prompt_price": "1", "completion_price": "2"}),
    "POST /admin/prices/remove (page)": Ask(data={"model": "{priced}"}),
    "POST /conversations/{conversation_id}/shared_links": Ask(json={"days": 7}),
    "POST /conversations/{conversation_id}/links (page)": Ask(data={"days": "7"}),
    "GET /shared/{token}/pictures/{sha256} (page)": Ask(path="/shared/{token}/pictures/{thumbnail}"),
    "POST /imports": Ask(json={"name": "default-user"}),
    "PUT /imports/{import_id}/files": Ask(query="?path=worlds/Sea.json", data={"a": "b"}),
    "POST /imports/{import_id}/missing_files": Ask(json={"files": []}),
    "PUT /imports/{import_id}/items/{position}/choice": Ask(
        path="/imports/{scanned_id}/items/1/choice", json={"choice": "skip"}
    ),
    "POST /imports/{import_id}/start": Ask(path="/imports/{scanned_id}/start", json={}),
    "POST /imports/{import_id}/pause": Ask(path="/imports/{importing_id}/pause"),
    "GET /imports/{import_id}/report": Ask(path="/imports/{scanned_id}/report"),
    "POST /exports": Ask(json={}),
    "GET /exports/{job_id}": Ask(path="/exports/{export_id}"),
    "GET /exports/{job_id}/file": Ask(path="/exports/{exported_id}/file"),
    "GET /exports/{job_id}/report": Ask(path="/exports/{exported_id}/report"),
    "POST /import (page)": Ask(files=a_file(b"PK", "backup.zip")),
    "POST /import/{import_id}/items/{position} (page)": Ask(
        path="/import/{scanned_id}/items/1", data={"choice": "skip"}
    ),
    "POST /import/{import_id}/start (page)": Ask(path="/import/{scanned_id}/start", data={"kind": ["world"]}),
    "POST /import/{import_id}/resume (page)": Ask(path="/import/{scanned_id}/resume"),
    "POST /import/{import_id}/pause (page)": Ask(path="/import/{importing_id}/pause"),
    "GET /import/{import_id} (page)": Ask(path="/import/{scanned_id}"),
    "GET /export/{job_id} (page)": Ask(path="/export/{exported_id}"),
    "GET /export/{job_id}/progress (page)": Ask(path="/export/{export_id}/progress"),
    "POST /export/{job_id}/stop (page)": Ask(path="/export/{export_id}/stop"),
    "POST /characters/imports/{job_id}/files/{position}/version (page)": Ask(
        path="/characters/imports/{job_id}/files/0/version"
    ),
    "POST /characters/imports/{job_id}/files/{position}/choose (page)": Ask(
        path="/characters/imports/{job_id}/files/0/choose", data={"choice": "new"}
    ),
    "GET /docs/{name} (page)": Ask(path="/docs/guide"),
    "GET /events (page)": Ask(query="?watch={conversation_id}"),
    "POST /conversations/{conversation_id}/panel/settings (page)": Ask(
        data={"settings_version": "0", "shown": "llm.top_k", "llm.top_k": "40"}, query="?layer=conversation"
    ),
    "POST /conversations/{conversation_id}/panel/members (page)": Ask(data={"user_id": "{user_id}"}),
    "POST /conversations/{conversation_id}/panel/members/{member_id} (page)": Ask(
        data={"settings_version": "0", "participation": "muted"}
    ),
    "POST /conversations/{conversation_id}/panel/members/{member_id}/move (page)": Ask(
        data={"settings_version": "0", "direction": "up"}
    ),
    "POST /conversations/{conversation_id}/panel/lore (page)": Ask(data={"lorebook_id": "{lorebook_id}"}),
    "POST /conversations/{conversation_id}/panel/lore/{link_id} (page)": Ask(data={"enabled": "false"}),
    "POST /conversations/{conversation_id}/panel/prompt/injections (page)": Ask(
        data={"name": "weather", "content": "It rains."}
    ),
    "POST /conversations/{conversation_id}/panel/prompt/modules/{module_id} (page)": Ask(data={"enabled": "false"}),
    "POST /conversations/{conversation_id}/panel/prompt/toggles (page)": Ask(data={"key": "{key}", "value": "1"}),
    "POST /spaces/{space_id}/settings/import": Ask(files=a_file(b'{"power_user": {}}')),
    "POST /conversations/{conversation_id}/panel/prompt/settings (page)": Ask(files=a_file(b'{"power_user": {}}')),
    "PUT /providers/{provider_id}/tokenizer": Ask(files=a_file(json.dumps(byte_level_bpe()).encode())),
    "POST /models/{provider_id}/tokenizer (page)": Ask(files=a_file(json.dumps(byte_level_bpe()).encode())),
    "PUT /conversations/{conversation_id}/toggles/{key}": Ask(json={"value": "1"}),
    "POST /conversations/{conversation_id}/panel/prompt/injections/remove (page)": Ask(data={"name": "{injection}"}),
    "POST /conversations/{conversation_id}/panel/pipelines (page)": Ask(data={"profile": "none"}),
    "POST /conversations/{conversation_id}/name (page)": Ask(data={"settings_version": "0", "title": "Talks"}),
    "POST /spaces/{space_id} (page)": Ask(data={"settings_version": "0", "name": "Room"}),
    "PATCH /me": Ask(json={"name": "{fresh}"}),
    "POST /me/password": Ask(json={"current_password": PASSWORD, "new_password": "four brown owls"}),
    "POST /sessions": Ask(json={"login": "hugo@example.org", "password": PASSWORD}),
    "POST /users": Ask(json={"code": "{code}", "name": "{fresh}", "password": PASSWORD}),
    "POST /api_keys": Ask(json={"name": "script"}),
    "POST /invitations": Ask(json={}),
    "PATCH /users/{user_id}": Ask(json={"role": "moderator"}),
    "POST /spaces": Ask(json={"name": "Room"}),
    "PATCH /spaces/{space_id}": Ask(json={"settings_version": 0, "name": "Room"}),
    "PATCH /spaces/{space_id}/settings": Ask(json=SETTINGS),
    "PUT /spaces/{space_id}/background": Ask(files=a_file(picture(), "sea.png")),
    "POST /spaces/{space_id}/background": Ask(json={"sha256": "{background}"}),
    "POST /spaces/{space_id}/import (page)": Ask(files=a_file(CHAT.encode(), "evening.jsonl")),
    "POST /spaces/{space_id}/background (page)": Ask(files=a_file(picture(), "sea.png")),
    "POST /spaces/{space_id}/members": Ask(json={"user_id": "{user_id}"}),
    "PUT /spaces/{space_id}/members/order": Ask(
        json={"settings_version": 0, "member_ids": ["{member_0}", "{member_2}", "{member_1}", "{member_3}"]},
    ),
    "PATCH /members/{member_id}": Ask(json={"settings_version": 0, "participation": "muted"}),
    "PATCH /members/{member_id}/settings": Ask(json=SETTINGS),
    "POST /spaces/{space_id}/conversations": Ask(json={"title": "Talk"}),
    "POST /spaces/{space_id}/conversations/import": Ask(files=a_file(CHAT.encode(), "evening.jsonl")),
    "POST /characters/{character_id}/chats/import": Ask(files=a_file(CHAT.encode(), "evening.jsonl")),
    "POST /characters/{character_id}/chats (page)": Ask(files=a_file(CHAT.encode(), "evening.jsonl")),
    "PUT /spaces/{space_id}/tags": Ask(json={"tags": ["noir"]}),
    "POST /spaces/{space_id}/tags (page)": Ask(data={"tags": "noir, kind"}),
    "POST /spaces/{space_id}/pin (page)": Ask(data={"pinned": "true"}),
    "PUT /conversations/{conversation_id}/read_position": Ask(json={"seq": 1}),
    "GET /conversations/{conversation_id}/tree/{node_id} (page)": Ask(
        path="/conversations/{conversation_id}/tree/{conversation_id}"
    ),
    "PATCH /conversations/{conversation_id}": Ask(json={"settings_version": 0, "title": "Talks"}),
    "PATCH /conversations/{conversation_id}/settings": Ask(json=SETTINGS),
    "POST /conversations/{conversation_id}/fork": Ask(json={"message_id": "{message_id}", "kind": "thread"}),
    "POST /conversations/{conversation_id}/messages": Ask(json={"id": "{fresh}", "content": "Hm?", "role": "system"}),
    "POST /conversations/{conversation_id}/pictures": Ask(files=a_file(picture(), "door.png")),
    "PUT /conversations/{conversation_id}/variables/{name}": Ask(json={"value": 7}),
    "PUT /conversations/{conversation_id}/injections/{name}": Ask(json={"content": "It rains."}),
    "DELETE /conversations/{conversation_id}/injections/{name}": Ask(
        path="/conversations/{conversation_id}/injections/{injection}"
    ),
    "PUT /variables/{name}": Ask(json={"value": 7}),
    "DELETE /variables/{name}": Ask(path="/variables/{global_name}"),
    "POST /conversations/{conversation_id}/preview": Ask(json={"kind": "normal"}),
    "POST /runs/{run_id}/what_if": Ask(json={}),
    "POST /conversations/{conversation_id}/what_if": Ask(json={"settings": {"world_info": {"depth": 5}}}),
    "POST /conversations/{conversation_id}/what_if/next": Ask(json={"kind": "normal"}),
    "POST /conversations/{conversation_id}/preview/explanation": Ask(json={"kind": "normal"}),
    "GET /runs/{run_id}/prompt/compare": Ask(query="?with={run_id}"),
    "PATCH /messages/{message_id}": Ask(json={"content": "The lamp is out.", "revision": 1}),
    "POST /messages/{message_id}/swipes": Ask(json={"id": "{fresh}", "content": "There is no lamp."}),
    "PUT /messages/{message_id}/active_swipe": Ask(json={"position": 1}, needs=("swipe_id",)),
    "PATCH /messages/{message_id}/swipes/{swipe_id}": Ask(json={"content": "There is no lamp."}),
    "POST /characters": Ask(files=a_file(json_card(name="Bo"))),
    "POST /characters/new": Ask(json={"name": "Bo"}),
    "POST /characters/check": Ask(json={"name": "Bo"}),
    "POST /characters/import": Ask(files=a_file(json_card(name="Bo"), field="files")),
    "PATCH /characters/{character_id}": Ask(json={"version": 1, "description": "Small."}),
    "POST /characters/{character_id}/restore": Ask(json={"version": 2, "number": 1}, needs=("number",)),
    "PUT /characters/{character_id}/avatar": Ask(files=a_file(picture("red"), "red.png"), query="?version=1"),
    "PUT /characters/{character_id}/tags": Ask(json={"tags": ["noir"]}),
    "POST /characters/{character_id}/assets": Ask(
        files=a_file(picture("red"), "red.png", field="files"), query="?kind=emotion"
    ),
    "PATCH /characters/{character_id}/assets/{asset_id}": Ask(json={"version": 2, "name": "delight"}),
    "GET /characters/{character_id}/avatar": Ask(path="/characters/{pictured_id}/avatar"),
    "POST /scripts/test": Ask(json={"data": {"findRegex": "/a/", "replaceString": "b"}, "text": "a"}),
    "POST /scripts/test (page)": Ask(data={"find": "/a/", "replace": "b", "text": "a"}),
    "POST /scripts/{scope}/{holder_id}": Ask(json={"data": {"findRegex": "/a/"}}),
    "POST /scripts/{scope}/{holder_id}/import": Ask(files=a_file(b'{"scriptName": "a", "findRegex": "/a/"}')),
    "PATCH /scripts/{scope}/{holder_id}/{kind}/{place}": Ask(json={"mark": "{mark}", "data": {"scriptName": "b"}}),
    "DELETE /scripts/{scope}/{holder_id}/{kind}/{place}": Ask(query="?mark={mark}"),
    "POST /scripts/{scope}/{holder_id}/{kind}/{place}/copy": Ask(
        json={"mark": "{mark}", "scope": "character", "holder_id": "{holder_id}"}
    ),
    "POST /scripts/{scope}/{holder_id}/import (page)": Ask(files=a_file(b'{"scriptName": "a", "findRegex": "/a/"}')),
    "POST /scripts/{scope}/{holder_id}/{kind}/order (page)": Ask(data={"moved": "0.{mark}", "behind": ""}),
    "POST /scripts/{scope}/{holder_id}/{kind} (page)": Ask(data={"name": "a", "find": "/a/"}),
    "POST /scripts/{scope}/{holder_id}/{kind}/{place} (page)": Ask(data={"mark": "{mark}", "name": "a", "find": "/a/"}),
    "POST /scripts/{scope}/{holder_id}/{kind}/{place}/enabled (page)": Ask(data={"mark": "{mark}", "enabled": "false"}),
    "POST /scripts/{scope}/{holder_id}/{kind}/{place}/delete (page)": Ask(data={"mark": "{mark}"}),
    "POST /scripts/{scope}/{holder_id}/{kind}/{place}/copy (page)": Ask(
        data={"mark": "{mark}", "target": "character.{holder_id}"}
    ),
    "POST /lorebooks": Ask(json={"name": "{fresh}"}),
    "POST /lorebooks/import": Ask(files=a_file(b'{"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}')),
    "PATCH /lorebooks/{lorebook_id}": Ask(json={"settings_version": 0, "name": "{fresh}"}),
    "POST /lorebooks/{lorebook_id}/entries": Ask(json={"data": {"key": ["tide"], "content": "Twice."}}),
    "PUT /lorebooks/{lorebook_id}/entries/order": Ask(json={"ids": ["{entry_id}"]}),
    "POST /lorebooks/{lorebook_id}/entries/toggle": Ask(json={"enabled": False}),
    "POST /lorebooks/{lorebook_id}/entries/bulk": Ask(json={"action": "disable"}),
    "POST /lorebooks/{lorebook_id}/test": Ask(json={"text": "The harbour."}),
    "PATCH /lorebooks/{lorebook_id}/entries/{entry_id}": Ask(json={"revision": 1, "data": {"content": "Rarely."}}),
    "DELETE /lorebooks/{lorebook_id}/entries/{entry_id}": Ask(query="?revision=1"),
    "GET /lorebook_links": Ask(query="?character_id={character_id}"),
    "POST /lorebook_links": Ask(json={"lorebook_id": "{lorebook_id}", "space_id": "{space_id}"}),
    "PATCH /lorebook_links/{link_id}": Ask(json={"enabled": False}),
    "POST /conversations/{conversation_id}/artifacts/reset": Ask(json={}, needs=("tag",)),
    "POST /conversations/{conversation_id}/artifacts/{tag}/restore": Ask(json={"version": 1, "based_on_version": 1}),
    "POST /conversations/{conversation_id}/artifacts/{tag}/restore (page)": Ask(
        data={"version": "1", "based_on_version": "1"}
    ),
    "POST /pipeline_profiles": Ask(json={"name": "{fresh}"}),
    "POST /pipeline_profiles/check": Ask(json={"content": {"pipelines": []}}),
    "PATCH /pipeline_profiles/{profile_id}": Ask(json={"settings_version": 1, "name": "{fresh}"}),
    "POST /pipeline_profiles/{profile_id}/dry_run": Ask(
        json={"conversation_id": "{conversation_id}", "content": PIPELINES}
    ),
    "POST /conversations/{conversation_id}/pipeline_runs": Ask(json={"request_id": "{fresh}"}, needs=("followed_id",)),
    "POST /conversations/{conversation_id}/pipelines/run (page)": Ask(needs=("followed_id",)),
    "POST /pipelines/{profile_id}/dry_run (page)": Ask(
        data={"conversation_id": "{conversation_id}", "content": json.dumps(PIPELINES)}
    ),
    **{
        f"{method} /pipelines/{{profile_id}}/dry_run/{{job_id}}{end} (page)": Ask(
            path="/pipelines/{profile_id}/dry_run/{dry_run_id}" + end
        )
        for method, end in (("GET", ""), ("GET", "/progress"), ("POST", "/stop"))
    },
    "POST /conversations/{conversation_id}/what-if (page)": Ask(data={"settings": "world_info.depth=5", "last": "3"}),
    **{
        f"{method} /conversations/{{conversation_id}}/what-if/{{job_id}}{end} (page)": Ask(
            path="/conversations/{conversation_id}/what-if/{what_if_id}" + end
        )
        for method, end in (("GET", ""), ("GET", "/progress"), ("POST", "/stop"), ("GET", "/runs/{run_id}"))
    },
    "GET /pipeline_choices": Ask(query="?conversation_id={conversation_id}"),
    "PUT /pipeline_choices": Ask(json={"conversation_id": "{conversation_id}", "profile_id": None}),
    "POST /pipeline_choices/add": Ask(
        json={
            "example": "pre_thinking",
            "profile_id": "{followed_id}",
            "settings_version": 1,
            "conversation_id": "{conversation_id}",
        }
    ),
    "DELETE /pipeline_choices": Ask(query="?conversation_id={conversation_id}"),
    "POST /presets": Ask(json={"kind": "chat", "name": "{fresh}"}),
    "POST /presets/import": Ask(files=a_file(b'{"openai_max_context": 8192, "prompts": []}', "wild.json")),
    "PUT /presets/default": Ask(json={"preset_id": None}),
    "PATCH /presets/{preset_id}": Ask(json={"settings_version": 0, "name": "{fresh}"}),
    "POST /presets/{preset_id}/prompts": Ask(json={"settings_version": 0, "content": "Be brief."}),
    "PUT /presets/{preset_id}/prompts/order": Ask(
        json={"settings_version": 0, "order": [{"identifier": "main", "enabled": True}]}
    ),
    "PATCH /presets/{preset_id}/prompts/{identifier}": Ask(json={"settings_version": 0, "content": "Be brief."}),
    "DELETE /presets/{preset_id}/prompts/{identifier}": Ask(query="?settings_version=0"),
    "DELETE /presets/{preset_id}/prompts/order": Ask(query="?settings_version=0&character_id=100001"),
    "POST /presets/{preset_id}/prompts/{identifier}/reset": Ask(json={"settings_version": 0}),
    "POST /presets/{preset_id}/restore": Ask(
        path="/presets/{imported_id}/restore", json={"settings_version": 1, "path": ["temperature"]}
    ),
    "POST /presets/{preset_id}/render": Ask(path="/presets/{master_id}/render", json={}),
    "GET /presets/{preset_id}/tokens": Ask(query="?conversation_id={conversation_id}"),
    "POST /presets (page)": Ask(data={"name": "{fresh}", "kind": "text"}),
    "POST /presets/{preset_id}/rendering (page)": Ask(path="/presets/{master_id}/rendering", data={"conversation": ""}),
    "POST /presets/{preset_id}/original (page)": Ask(
        path="/presets/{imported_id}/original", data={"settings_version": "1", "path": '["temperature"]'}
    ),
    "POST /presets/{preset_id}/orders (page)": Ask(data={"settings_version": "0", "character_id": "7"}),
    "POST /presets/{preset_id}/orders/delete (page)": Ask(data={"settings_version": "0", "character_id": "100001"}),
    "POST /presets/{preset_id}/prompts (page)": Ask(data={"settings_version": "0", "content": "Be brief."}),
    "GET /presets/{preset_id}/prompts/edit (page)": Ask(query="?identifier=main"),
    "POST /presets/{preset_id}/prompts/edit (page)": Ask(data={"settings_version": "0", "identifier": "main"}),
    "POST /presets/{preset_id}/prompts/reset (page)": Ask(data={"settings_version": "0", "identifier": "main"}),
    "POST /presets/{preset_id}/prompts/delete (page)": Ask(data={"settings_version": "0", "identifier": "main"}),
    "POST /presets/{preset_id}/cards (page)": Ask(
        path="/presets/{risuai_id}/cards", data={"settings_version": "0", "type": "plain"}
    ),
    "POST /presets/{preset_id}/cards/move (page)": Ask(
        path="/presets/{risuai_id}/cards/move", data={"settings_version": "0", "moved": "0", "behind": "1"}
    ),
    "GET /presets/{preset_id}/cards/{place} (page)": Ask(path="/presets/{risuai_id}/cards/0"),
    "POST /presets/{preset_id}/cards/{place} (page)": Ask(
        path="/presets/{risuai_id}/cards/0", data={"settings_version": "0", "text": "Be brief."}
    ),
    "POST /presets/{preset_id}/cards/{place}/delete (page)": Ask(
        path="/presets/{risuai_id}/cards/0/delete", data={"settings_version": "0"}
    ),
    "POST /personas": Ask(json={"name": "{fresh}"}),
    "POST /personas/import": Ask(files=a_file(b'{"personas": {"a.png": "Kit"}, "persona_descriptions": {}}')),
    "PATCH /personas/{persona_id}": Ask(json={"settings_version": 0, "name": "{fresh}"}),
    "POST /providers": Ask(
        json={"name": "{fresh}", "kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "none"}
    ),
    "PUT /providers/default": Ask(json={"provider_id": "{provider_id}"}),
    "PATCH /providers/{provider_id}": Ask(json={"settings_version": 0, "model": "other"}),
    "POST /v1/chat/completions (page)": Ask(
        json={"model": "{model_id}", "messages": [{"role": "user", "content": "Hm?"}], "stream": True}
    ),
    "POST /spaces (page)": Ask(data={"character_id": "{character_id}"}),
    "POST /spaces/new (page)": Ask(data={"character_id": ["{character_id}"], "name": "Room"}),
    "POST /models (page)": Ask(data={"name": "{fresh}", "base_url": "http://127.0.0.1:9/v1"}),
    "POST /models/{provider_id} (page)": Ask(data={"name": "{fresh}", "base_url": "http://127.0.0.1:9/v1"}),
    "POST /models/{provider_id}/test (page)": Ask(data={"name": "{fresh}", "base_url": "http://127.0.0.1:9/v1"}),
    "POST /models/{provider_id}/list (page)": Ask(data={"name": "{fresh}", "base_url": "http://127.0.0.1:9/v1"}),
    "POST /models/{provider_id}/switch (page)": Ask(data={"disabled": "true"}),
    "POST /lorebooks (page)": Ask(data={"name": "{fresh}"}),
    "POST /lorebooks/import (page)": Ask(files=a_file(b'{"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}')),
    "POST /lorebooks/{lorebook_id} (page)": Ask(data={"settings_version": "0", "name": "{fresh}"}),
    "POST /lorebooks/{lorebook_id}/test (page)": Ask(data={"text": "The harbour."}),
    "GET /lorebook_links (page)": Ask(query="?character_id={character_id}"),
    "POST /lorebook_links (page)": Ask(
        data={"lorebook_id": "{lorebook_id}", "side": "book"}, query="?character_id={character_id}"
    ),
    "POST /lorebook_links/{link_id} (page)": Ask(data={"enabled": "false", "side": "place"}),
    "POST /lorebook_links/{link_id}/detach (page)": Ask(data={"side": "place"}),
    "POST /lorebooks/{lorebook_id}/entries/bulk (page)": Ask(data={"action": "disable", "all": "on"}),
    "POST /lorebooks/{lorebook_id}/entries/move (page)": Ask(data={"moved": "{entry_id}", "behind": "{entry_id}"}),
    "POST /lorebooks/{lorebook_id}/entries/test (page)": Ask(data={"keys": "tide", "test_text": "The tide."}),
    "POST /lorebooks/{lorebook_id}/entries (page)": Ask(data={"keys": "tide", "content": "Twice."}),
    "POST /lorebooks/{lorebook_id}/entries/{entry_id} (page)": Ask(data={"revision": "1", "content": "Rarely."}),
    "POST /lorebooks/{lorebook_id}/entries/{entry_id}/enabled (page)": Ask(data={"enabled": "false"}),
    "POST /lorebooks/{lorebook_id}/entries/{entry_id}/delete (page)": Ask(data={"revision": "1"}),
    "POST /presets/import (page)": Ask(files=a_file(b'{"openai_max_context": 8192, "prompts": []}', "wild.json")),
    "POST /presets/default (page)": Ask(data={"preset_id": ""}),
    "POST /presets/{preset_id} (page)": Ask(data={"settings_version": "0", "name": "{fresh}"}),
    "POST /presets/{preset_id}/prompts/enabled (page)": Ask(
        data={"settings_version": "0", "identifier": "main", "enabled": "false"}
    ),
    "POST /presets/{preset_id}/prompts/move (page)": Ask(data={"settings_version": "0", "moved": "main"}),
    "POST /pipelines (page)": Ask(data={"name": "{fresh}"}),
    "POST /pipelines/import (page)": Ask(files=a_file(b'{"name": "Tides", "pipelines": []}')),
    "POST /pipelines/examples (page)": Ask(data={"example": "pre_thinking"}),
    "POST /pipelines/examples/add (page)": Ask(
        data={
            "example": "pre_thinking",
            "profile_id": "{followed_id}",
            "settings_version": "1",
            "conversation": "{conversation_id}",
        }
    ),
    "POST /pipelines/{profile_id} (page)": Ask(
        data={"settings_version": "1", "name": "{fresh}", "content": '{"pipelines": []}'}
    ),
    "POST /pipelines/{profile_id}/check (page)": Ask(data={"content": "[]"}),
    "POST /personas (page)": Ask(data={"name": "{fresh}"}),
    "POST /personas/import (page)": Ask(files=a_file(b'{"personas": {"a.png": "Kit"}, "persona_descriptions": {}}')),
    "POST /personas/{persona_id} (page)": Ask(data={"settings_version": "0", "name": "{fresh}"}),
    "POST /personas/{persona_id}/default (page)": Ask(data={"settings_version": "0"}),
    "POST /personas/{persona_id}/picture (page)": Ask(
        files=a_file(picture("red"), "red.png"), query="?settings_version=0"
    ),
    "POST /personas/{persona_id}/picture/remove (page)": Ask(query="?settings_version=0"),
    "POST /characters/new (page)": Ask(data={"name": "Bo"}),
    "PUT /personas/{persona_id}/picture": Ask(files=a_file(picture("red"), "red.png"), query="?settings_version=0"),
    "DELETE /personas/{persona_id}/picture": Ask(query="?settings_version=0"),
    "POST /personas/{persona_id}/connections": Ask(json={"character_id": "{character_id}"}),
    "POST /personas/{persona_id}/connections (page)": Ask(data={"character_id": "{character_id}"}),
    "PUT /conversations/{conversation_id}/persona": Ask(json={"persona_id": None}),
    "POST /quick_replies": Ask(json={"name": "{fresh}"}),
    "POST /quick_replies/import": Ask(files=a_file(b'{"qrList": []}')),
    "PATCH /quick_replies/{set_id}": Ask(json={"settings_version": 0, "name": "{fresh}"}),
    "POST /quick_replies/{set_id}/buttons": Ask(json={"label": "Bow"}),
    "PUT /quick_replies/{set_id}/buttons/order": Ask(json={"settings_version": 0, "ids": [1]}),
    "PATCH /quick_replies/{set_id}/buttons/{button_id}": Ask(json={"settings_version": 0, "label": "Bow"}),
    "PUT /quick_replies/{set_id}/places": Ask(json={"space_id": "{space_id}"}),
    "POST /conversations/{conversation_id}/quick_replies/{set_id}/{button_id}": Ask(json={"input": ""}),
    "POST /quick-replies (page)": Ask(data={"name": "{fresh}"}),
    "POST /quick-replies/import (page)": Ask(files=a_file(b'{"qrList": []}')),
    "POST /quick-replies/{set_id} (page)": Ask(data={"settings_version": "0", "name": "{fresh}"}),
    "POST /quick-replies/{set_id}/enabled (page)": Ask(data={"enabled": "false"}),
    "POST /quick-replies/{set_id}/places (page)": Ask(data={"space_id": "{space_id}"}),
    "POST /quick-replies/{set_id}/places/remove (page)": Ask(data={"space_id": "{space_id}"}),
    "POST /quick-replies/{set_id}/buttons (page)": Ask(data={"label": "Bow"}),
    "POST /quick-replies/{set_id}/buttons/move (page)": Ask(data={"moved": "1"}),
    "POST /quick-replies/{set_id}/buttons/{button_id} (page)": Ask(data={"settings_version": "0", "label": "Bow"}),
    "POST /quick-replies/{set_id}/buttons/{button_id}/delete (page)": Ask(data={"settings_version": "0"}),
    "POST /characters/check (page)": Ask(data={"name": "Bo"}),
    "POST /characters/preview (page)": Ask(data={"name": "Bo"}),
    "POST /characters/imports (page)": Ask(files=a_file(json_card(name="Bo"), field="files")),
    "GET /characters/imports/{job_id}/progress (page)": Ask(query="?after=0"),
    "POST /characters/{character_id}/edit (page)": Ask(data={"version": "1", "description": "Small."}),
    "POST /characters/{character_id}/picture (page)": Ask(files=a_file(picture("red"), "red.png")),
    "POST /characters/{character_id}/lorebook/save (page)": Ask(data={"version": "1"}, needs=("embedded_book_id",)),
    "POST /characters/{character_id}/tags (page)": Ask(data={"tags": "noir, kind"}),
    "POST /characters/{character_id}/pictures (page)": Ask(files=a_file(picture("red"), "red.png", field="files")),
    "POST /characters/{character_id}/pictures/{asset_id} (page)": Ask(data={"name": "delight", "kind": "emotion"}),
    "POST /characters/{character_id}/versions/{number}/restore (page)": Ask(data={"version": "2"}),
    "GET /search": Ask(query="?q=lamp"),
    "GET /conversations/{conversation_id}/older (page)": Ask(query="?before=9"),
    "GET /conversations/{conversation_id}/newer (page)": Ask(query="?after=1&before=9"),
    "POST /conversations/{conversation_id}/messages (page)": Ask(data={"content": "Hm?"}),
    "POST /messages/{message_id} (page)": Ask(data={"content": "The lamp is out.", "revision": "1"}),
    "POST /messages/{message_id}/regenerate (page)": Ask(path="/messages/{reply_id}/regenerate"),
    "POST /messages/{message_id}/continue (page)": Ask(path="/messages/{reply_id}/continue"),
    "POST /conversations/{conversation_id}/retry (page)": Ask(needs=("run_id",)),
    "POST /conversations/{conversation_id}/skip (page)": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/pause (page)": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/resume (page)": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/skip (page)": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/stop (page)": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round (page)": Ask(
        data={"round_id": "{round_id}", "member": ["{member_id}"]}
    ),
    "POST /conversations/{conversation_id}/generate (page)": Ask(data={"speaker_id": "{member_id}"}),
    "POST /conversations/{conversation_id}/auto-mode (page)": Ask(data={"rounds": "0"}),
    "POST /conversations/{conversation_id}/copilot (page)": Ask(data={"steps": "2"}),
    "POST /conversations/{conversation_id}/candidates (page)": Ask(data={"count": "1"}),
    "GET /conversations/{conversation_id}/candidates/{job_id} (page)": Ask(
        path="/conversations/{conversation_id}/candidates/{suggestions_id}"
    ),
    "POST /conversations/{conversation_id}/generate": Ask(json={"speaker_id": "{member_id}"}),
    "POST /conversations/{conversation_id}/retry": Ask(needs=("run_id",)),
    "POST /conversations/{conversation_id}/round/pause": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/resume": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/skip": Ask(needs=("round_id",)),
    "POST /conversations/{conversation_id}/round/stop": Ask(needs=("round_id",)),
    "PUT /conversations/{conversation_id}/round": Ask(json={"round_id": "{round_id}", "member_ids": ["{member_id}"]}),
    "PUT /conversations/{conversation_id}/auto-mode": Ask(json={"rounds": 0}),
    "PUT /conversations/{conversation_id}/copilot": Ask(json={"steps": 2}),
    "POST /conversations/{conversation_id}/candidates": Ask(json={"count": 1}),
    "PUT /spaces/{space_id}/owner": Ask(json={"settings_version": 0, "member_id": "{guest_id}"}),
    "POST /spaces/{space_id}/invitations": Ask(json={"role": "observer", "max_uses": 2}),
    "POST /space_invitations/accept": Ask(json={"code": "{join_code}"}),
    "GET /join/{code} (page)": Ask(path="/join/{join_code}"),
    "POST /join/{code} (page)": Ask(path="/join/{join_code}"),
    "POST /conversations/{conversation_id}/panel/members/visibility (page)": Ask(
        data={"settings_version": "0", "visibility": "public"}
    ),
    "POST /conversations/{conversation_id}/panel/members/{member_id}/owner (page)": Ask(
        path="/conversations/{conversation_id}/panel/members/{guest_id}/owner", data={"settings_version": "0"}
    ),
    "POST /conversations/{conversation_id}/panel/state/variables (page)": Ask(data={"name": "mood", "value": "glad"}),
    "POST /conversations/{conversation_id}/panel/state/variables/delete (page)": Ask(
        data={"name": "{name}", "was": '"calm"'}
    ),
    "POST /messages/{message_id}/swipes (page)": Ask(data={"content": "The lamp is lit."}),
    "POST /messages/{message_id}/swipes/{swipe_id} (page)": Ask(data={"content": "The lamp is out."}),
    "POST /messages/{message_id}/swipes/{swipe_id}/show (page)": Ask(data={"position": "1"}),
    "GET /shares": Ask(query="?character_id={character_id}"),
    "POST /shares": Ask(json={"character_id": "{character_id}", "space_id": None}),
    "GET /shares (page)": Ask(query="?lorebook_id={lorebook_id}"),
    "POST /shares (page)": Ask(data={"space_id": "{space_id}"}, query="?preset_id={preset_id}"),
    "POST /shares/{share_id}/remove (page)": Ask(query="?character_id={character_id}"),
}
"""What the requests bring, where they bring something."""


def test_the_table_names_every_route_once() -> None:
    routes = [route.name for route in all_routes()]
    named = [route for routes in TABLE.values() for route in routes]
    assert sorted(named) == sorted(routes)
    assert set(REQUESTS) <= set(routes)


async def test_everybody_is_told_what_the_table_says(sqlite_url: str, tmp_path: Path) -> None:
    # Thousands of requests, on one database: who may do what is decided above it, and every query has its own tests.
    async with open_world(sqlite_url, tmp_path) as world:
        await world.installation.add("Hugo")
        for person in PEOPLE:
            await world.client(person)
        with RewindableDatabase(sqlite_url) as database:
            wrong = [line for route in all_routes() for line in await differences(world, route, database)]
    assert not wrong, "\n".join(wrong)


async def differences(world: World, route: Route, database: RewindableDatabase) -> list[str]:
    """Where the answers differ from the table; what is given must be what the schema says.

    Everybody asks about the same things of the owner's, and finds them as they were made.
    """
    ask, expected = REQUESTS.get(route.name, Ask()), EXPECTED[route.name]
    wrong: list[str] = []
    about_nothing = None
    with database.rewound():
        something, nothing = await prepared(route, ask, Things(world)), await prepared(route, ask, Nothing(world))
        with database.rewound() as rewind:
            for person in PEOPLE:
                before = database.version()
                answer = await send(world, person, something)
                told = outcome(answer)
                if told != expected[person]:
                    wrong.append(f"{person}: {route.name} gave {told} and not {expected[person]}: {words(answer)}")
                elif told == "yes":
                    if route.path.startswith(API_PREFIX):
                        await answer.request.aread()
                        schema()[route.path][route.method].validate_response(answer)
                    rewind()
                    continue
                elif told == "404" and answer.text != about_nothing:
                    about = await send(world, person, nothing)
                    if (about.status_code, about.text) != (answer.status_code, answer.text):
                        wrong.append(f"{person}: {route.name} tells what is there from what is not: {words(about)}")
                    about_nothing = about.text
                if database.version() != before:
                    wrong.append(f"{person}: {route.name} gave {told} and changed the database")
                rewind()
    return wrong


class Nothing(Things):
    """Names of things that were never there."""

    async def get(self, name: str) -> str:
        words = {"sha256": "0" * 64, "number": "1", "name": "mood", "tag": "mood", "identifier": "main"}
        words |= {"scope": "character", "kind": "sillytavern", "place": "0", "button_id": "1"}
        return words.get(name, str(uuid4()))


class Prepared(NamedTuple):
    """A request, with the ids of things in it."""

    route: Route
    path: str
    body: dict[str, Any]


async def prepared(route: Route, ask: Ask, things: Things) -> Prepared:
    for name in ask.needs:
        await things.get(name)
    prefix = API_PREFIX if route.path.startswith(API_PREFIX) else ""
    path = await things.filled((ask.path or route.path.removeprefix(prefix)) + ask.query)
    sent = {"json": await things.filled(ask.json), "data": await things.filled(ask.data), "files": ask.files}
    return Prepared(route, prefix + path, {kind: value for kind, value in sent.items() if value is not None})


async def send(world: World, person: Person, request: Prepared) -> httpx2.Response:
    """What a person is answered."""
    route, path, body = request
    client = await world.client(person)
    cookies = dict(client.cookies)
    if route.path.endswith(("/events", "/v1/chat/completions")):
        world.installation.runtime.stopping.set()
    try:
        return await client.request(route.method, path, **body)
    finally:
        world.installation.runtime.stopping.clear()
        client.cookies = cookies


@cache
def schema() -> BaseSchema:
    return schemathesis.openapi.from_dict(api_alone().openapi())


def words(answer: httpx2.Response) -> str:
    return " ".join(answer.text.split())[-300:]


def outcome(answer: httpx2.Response) -> str:
    if answer.status_code == 303 and answer.headers["location"].startswith("/sign-in"):
        return "in"
    return "yes" if answer.status_code < 400 else str(answer.status_code)
