"""Chats that were branched from others: RisuAI copies a chat up to a message, and says so in a comment behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tavernkit.values import Json, JsonObject

MARK = "specialcomment::branchedfrom::"
_COMMENT = re.compile(r"\s*\{\{specialcomment::branchedfrom::(.*?)::(.*)::([^:]+)(?:::)?\}\}\s*", re.DOTALL)


class BranchLink(NamedTuple):
    """The chat that one was branched from, and the message of it behind which they part. `messages` counts those of
    the new chat up to there."""

    chat_id: str
    chat_name: str
    message_id: str
    messages: int


def read_link(data: Json) -> BranchLink | None:
    """What a text says about a branch, if it is such a comment."""
    found = _COMMENT.fullmatch(data) if isinstance(data, str) and MARK in data else None
    return None if found is None else BranchLink(found[1], found[2], found[3], 0)


def branch_link(chat: JsonObject) -> BranchLink | None:
    """Where a chat was branched from; of several comments the last, as a branch of a branch copies that of its own."""
    messages = chat.get("message")
    if not isinstance(messages, list):
        return None
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        link = read_link(message.get("data")) if isinstance(message, dict) else None
        if link is not None:
            return link._replace(messages=place)
    return None


def parents_first(ids: Sequence[str], links: Mapping[str, str]) -> list[str]:
    """The chats in their order, except that one comes behind the chat that it was branched from; `links` names that
    for each. Chats that are branched from each other in a circle stay where they are."""
    placed: dict[str, None] = {}
    known = set(ids)
    for id in ids:
        above: dict[str, None] = {}
        at: str | None = id
        while at is not None and at in known and at not in placed and at not in above:
            above[at] = None
            at = links.get(at)
        placed.update(dict.fromkeys(reversed(above)))
    return list(placed)
