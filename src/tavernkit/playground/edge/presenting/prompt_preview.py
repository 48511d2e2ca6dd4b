"""The prompt that would be sent now, as a page shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, active_members, conversation_for
from tavernkit.playground.story.previews.service import (
    KeptBlock,
    KeptPrompt,
    PreviewKind,
    preview_prompt,
    speaker_at_hand,
)
from tavernkit.playground.story.prompting.fitting import part_name
from tavernkit.values import JsonObject, Value

LONGEST_SHOWN = 20_000
"""Of a longer block, the page shows the beginning; the request has all of it."""

LEFT_OUT = {
    "budget_exceeded": "no room was left",
    "group_overflow": "what belongs together did not fit",
    "priority_cutoff": "others matter more",
}


class BlockView(Value, frozen=True, kw_only=True):
    """A block of the prompt; `share` is its part of the largest one, in percent."""

    role: str
    part: str
    source: str
    tokens: int
    share: int
    content: str


class EvictedView(Value, frozen=True, kw_only=True):
    """Something that did not fit."""

    part: str
    tokens: int
    reason: str


class LoreVerdictView(Value, frozen=True, kw_only=True):
    """An entry of a lorebook, and why it is in the prompt, or why not."""

    book: str
    name: str
    sentence: str
    is_in: bool


class SpeakerLink(Value, frozen=True, kw_only=True):
    """Somebody whose prompt can be looked at."""

    id: str
    name: str
    is_shown: bool


class PreviewView(Value, frozen=True, kw_only=True):
    """The preview. `budget` is None where nothing was measured."""

    conversation_id: str
    title: str
    speaker: str
    speakers: tuple[SpeakerLink, ...]
    model: str
    provider: str
    platform: str
    blocks: tuple[BlockView, ...]
    tokens: int
    budget: int | None
    budget_share: int
    evicted: tuple[EvictedView, ...]
    lore: tuple[LoreVerdictView, ...]
    warnings: tuple[str, ...]
    request: str


async def preview_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, speaker_id: UUID | None, kind: PreviewKind | None
) -> PreviewView:
    """The prompt for what this member would say next here, or whoever would speak."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        speaker = await speaker_at_hand(session, conversation, access, speaker_id, kind)
        members = await active_members(session, conversation.space_id)
    prompt = await preview_prompt(runtime, viewer, conversation_id, speaker_id=speaker.id, kind=kind)
    largest = max((block.tokens for block in prompt.blocks), default=0)
    tokens = sum(block.tokens for block in prompt.blocks)
    trimming = prompt.report["trimming"]
    budget = trimming["budget_tokens"] if trimming else None
    return PreviewView(
        conversation_id=str(conversation.id),
        title=_title(access.space.name, conversation.title),
        speaker=shown_name(speaker.cached_display_name),
        speakers=tuple(
            SpeakerLink(
                id=str(member.id), name=shown_name(member.cached_display_name), is_shown=member.id == speaker.id
            )
            for member in members
            # For others than oneself, nobody can have a model write.
            if member.kind == "character" or member.user_id == viewer.user_id
        ),
        model=str(prompt.request["model"]),
        provider=str(prompt.request["provider"]),
        platform=platform_name(prompt),
        blocks=tuple(block_view(block, largest) for block in prompt.blocks),
        tokens=tokens,
        budget=budget,
        budget_share=min(100, round(100 * tokens / budget)) if budget else 0,
        evicted=tuple(evicted_view(record) for record in trimming["evictions"]) if trimming else (),
        lore=tuple(verdict_view(verdict) for verdict in prompt.report.get("lore", ())),
        warnings=tuple(str(warning["message"]) for warning in prompt.report["warnings"]),
        request=request_text(prompt),
    )


def platform_name(prompt: KeptPrompt) -> str:
    """Whose rules it was built by; prompts of earlier versions do not say, and are SillyTavern's."""
    return {"risuai": "RisuAI"}.get(prompt.report.get("platform", ""), "SillyTavern")


def _title(space: str, conversation: str) -> str:
    return shown_name(conversation) if space == conversation else f"{shown_name(space)} › {shown_name(conversation)}"


def block_view(block: KeptBlock, largest: int) -> BlockView:
    """A block, with a bar that is as long as its part of the largest one."""
    long = len(block.content) > LONGEST_SHOWN
    return BlockView(
        role=block.role if block.name is None else f"{block.role} · {shown_name(block.name)}",
        part=part_name(block.slot, block.source),
        source=_source(block.source),
        tokens=block.tokens,
        share=max(1, round(100 * block.tokens / largest)) if largest else 0,
        content=f"{block.content[:LONGEST_SHOWN]}…" if long else block.content,
    )


def _source(source: Mapping[str, Any]) -> str:
    return " · ".join(str(source[name]) for name in ("stage", "id") if source.get(name))


def evicted_view(record: Mapping[str, Any]) -> EvictedView:
    """A block that did not fit, out of the report."""
    reason = str(record["reason"])
    return EvictedView(
        part=part_name(record["slot"], record["source"]), tokens=record["tokens"], reason=LEFT_OUT.get(reason, reason)
    )


def verdict_view(verdict: Mapping[str, Any]) -> LoreVerdictView:
    """An entry of a lorebook, out of the report."""
    return LoreVerdictView(
        book=shown_name(verdict["book"]) if verdict["book"] else "",
        name=shown_name(verdict["name"] or f"Entry {verdict['entry']}"),
        sentence=verdict["sentence"],
        is_in=verdict["reason"] == "activated",
    )


def request_text(prompt: KeptPrompt) -> str:
    """The request as text, with what it does not have left out."""
    request: JsonObject = {name: value for name, value in prompt.request.items() if value not in (None, [], {})}
    return json.dumps(request, ensure_ascii=False, indent=2)
