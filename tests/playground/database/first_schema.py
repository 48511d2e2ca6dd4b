"""A database as the first released version left it, filled without any of today's code."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from tavernkit.playground.base.database import migrate
from tavernkit.playground.base.database.engine import create_engine

__all__ = ["CONTENTS", "fill_first_schema", "migrate_to"]

WHEN = "2026-09-01 12:00:00.000000"


def _id(number: int) -> str:
    return f"{number:032x}"


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "users": [
        {"id": _id(1), "name": "Olga", "role": "administrator", "status": "active", "created_at": WHEN},
    ],
    "llm_providers": [
        {
            "id": _id(2), "name": "Mine", "kind": "openai", "base_url": "http://127.0.0.1/v1",
            "api_key": b"\x00\xffsealed", "model": "m", "context_tokens": 8192, "response_tokens": 512,
            "settings": "{}", "is_default": True, "disabled": False, "created_at": WHEN,
        },
    ],
    "characters": [
        {
            "id": _id(3), "owner_id": _id(1), "name": "Ottoline", "nickname": None,
            "data": '{"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": "Ottoline"}}', "spec_version": 3,
            "file_sha256": "ab" * 32, "status": "ready", "tags": '["kind"]', "created_at": WHEN, "updated_at": WHEN,
        },
    ],
    "spaces": [
        {
            "id": _id(4), "owner_id": _id(1), "kind": "playground", "name": "Letters", "status": "active",
            "prompt_settings": '{"a": 1}', "settings_version": 3, "created_at": WHEN, "updated_at": WHEN,
        },
    ],
    "conversations": [
        {
            "id": _id(5), "space_id": _id(4), "kind": "root", "title": "Main", "visibility": "shared",
            "parent_conversation_id": None, "root_conversation_id": _id(5), "forked_from_message_id": None,
            "last_seq": 3, "last_event": 1, "created_at": WHEN, "updated_at": WHEN,
        },
    ],
    "space_memberships": [
        {
            "id": _id(6), "space_id": _id(4), "kind": "human", "user_id": _id(1), "character_id": None, "role": "owner",
            "position": 0, "status": "active", "participation": "active", "cached_display_name": "Sam",
            "persona": "A clerk.", "provider_id": None, "settings": "{}", "settings_version": 0, "created_at": WHEN,
            "removed_at": None,
        },
        {
            "id": _id(7), "space_id": _id(4), "kind": "character", "user_id": None, "character_id": _id(3),
            "role": "member", "position": 1, "status": "active", "participation": "active",
            "cached_display_name": "Ottoline", "persona": "", "provider_id": _id(2), "settings": "{}",
            "settings_version": 0, "created_at": WHEN, "removed_at": None,
        },
    ],
    "conversation_runs": [
        {
            "id": _id(8), "conversation_id": _id(5), "kind": "user_turn", "status": "succeeded", "reason": "message",
            "speaker_membership_id": _id(7), "run_after": WHEN, "cancel_requested_at": None, "started_at": WHEN,
            "finished_at": WHEN, "heartbeat_at": WHEN, "lease_expires_at": None, "worker": "w", "fence": 1,
            "text": "Two words.", "dismissed": False, "error": None, "debug": "{}", "created_at": WHEN,
        },
    ],
    "outbox_events": [
        {"conversation_id": _id(5), "seq": 1, "kind": "message", "payload": '{"id": 1}', "created_at": WHEN},
    ],
    "messages": [
        {
            "id": _id(20 + seq), "conversation_id": _id(5), "membership_id": _id(member), "seq": seq, "role": role,
            "content": content, "visibility": visibility, "active_swipe_id": swipe, "swipes_count": count,
            "run_id": run, "origin_message_id": None, "revision": 1, "metadata": "{}", "created_at": WHEN,
        }
        for seq, member, role, content, visibility, swipe, count, run in (
            (1, 7, "assistant", "Mind the cat. 🐈", "normal", _id(30), 1, None),
            (2, 6, "user", "Who is Mr Abel?", "hidden", None, 0, None),
            (3, 7, "assistant", "Two words.", "normal", _id(32), 2, _id(8)),
        )
    ],
    "message_swipes": [
        {
            "id": _id(id), "message_id": _id(message), "position": position, "content": content, "metadata": "{}",
            "run_id": run, "created_at": WHEN,
        }
        for id, message, position, content, run in (
            (30, 21, 0, "Mind the cat. 🐈", None),
            (31, 23, 0, "One word.", None),
            (32, 23, 1, "Two words.", _id(8)),
        )
    ],
}  # fmt: skip


async def migrate_to(url: str, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).with_name("migrations")))
    config.attributes["url"] = url
    await asyncio.to_thread(command.upgrade, config, revision)


async def fill_first_schema(url: str) -> None:
    """Put the contents into a database at the first revision."""
    engine = create_engine(url)
    try:
        async with engine.execution_options(writes=True).begin() as connection:
            for table, rows in CONTENTS.items():
                for row in rows:
                    await connection.execute(text(_insert(table, row)), row)
    finally:
        await engine.dispose()


def _insert(table: str, row: Mapping[str, Any]) -> str:
    columns, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    return f"INSERT INTO {table} ({columns}) VALUES ({values})"  # noqa: S608 - names that stand above
