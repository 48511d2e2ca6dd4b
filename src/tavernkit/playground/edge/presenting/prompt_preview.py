"""Prompts as pages show them: one that was sent, and the one that would be sent now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import UUID

import msgspec

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Character, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.edge.presenting.panel import trail_title
from tavernkit.playground.story.access.access import Access, active_members, conversation_for
from tavernkit.playground.story.previews.service import (
    KeptBlock,
    KeptPrompt,
    LoreSource,
    PreviewKind,
    PromptPicture,
    preview_draft,
    preview_prompt,
    speaker_at_hand,
)
from tavernkit.playground.story.prompting.fitting import part_name
from tavernkit.playground.story.prompting.records import KeptReuse
from tavernkit.prompt.parts import LoreCause
from tavernkit.values import Json, Value

LONGEST_SHOWN = 20_000
"""Of a longer block, the page shows the beginning; the request has all of it."""

LEFT_OUT = {
    "budget_exceeded": _("the context is full"),
    "group_overflow": _("its group does not fit"),
    "priority_cutoff": _("its priority is lower"),
}


CAUSES: Mapping[LoreCause | None, str] = {
    "constant": _("constant"),
    "sticky": _("sticky"),
    "decorator": "@@activate",
    "forced": _("forced"),
    "kept": _("kept since it matched"),
    "child": _("replaces another entry"),
}


class BlockView(Value, frozen=True, kw_only=True):
    """A block of the prompt; `lore` are the entries in it, `share` is its part of the largest one, in percent."""

    role: str
    part: str
    source: str
    lore: tuple[str, ...]
    pictures: tuple[PromptPicture, ...]
    tokens: int
    share: int
    content: str


class Eviction(Value, frozen=True, kw_only=True):
    """Something that did not fit."""

    slot: str | None
    tokens: int
    reason: str
    source: dict[str, Json]

    @property
    def part(self) -> str:
        return part_name(self.slot, self.source)

    @property
    def words(self) -> str:
        return LEFT_OUT.get(self.reason, self.reason)


class Trimming(Value, frozen=True, kw_only=True):
    """What became of a prompt that has to fit."""

    budget_tokens: int
    initial_tokens: int
    final_tokens: int
    evictions: tuple[Eviction, ...]

    @property
    def sentence(self) -> str:
        used, budget, cut = self.final_tokens, self.budget_tokens, self.initial_tokens - self.final_tokens
        if cut > 0:
            return _("{used} of {budget} tokens used, {cut} trimmed.", used=used, budget=budget, cut=cut)
        return _("{used} of {budget} tokens used, none trimmed.", used=used, budget=budget)


class ReportedEntry(Value, frozen=True, kw_only=True):
    """An entry of a lorebook, and why it is in the prompt, or why not."""

    book: str | None
    entry: str
    name: str | None
    sentence: str
    reason: str


class TimedStage(Value, frozen=True, kw_only=True):
    """A stage of the build, and its own time."""

    name: str
    duration_ms: float


class KeptReport(Value, frozen=True, kw_only=True):
    """How a prompt came about; those of earlier versions name no lore, stages and platform, and are SillyTavern's."""

    trimming: Trimming | None
    warnings: tuple[dict[str, Json], ...]
    lore: tuple[ReportedEntry, ...] = ()
    platform: str = ""
    stages: tuple[TimedStage, ...] = ()
    reuse: KeptReuse | None = None

    @property
    def build_ms(self) -> float:
        return sum(stage.duration_ms for stage in self.stages)


class PromptView(Value, frozen=True, kw_only=True):
    """A prompt; `request` is its text, without what it does not have."""

    blocks: tuple[BlockView, ...]
    tokens: int
    report: KeptReport
    request: str

    @property
    def budget_share(self) -> int:
        """How much of what fits is used, in percent."""
        budget = 0 if self.report.trimming is None else self.report.trimming.budget_tokens
        return min(100, round(100 * self.tokens / budget)) if budget else 0


class PreviewSpeakers(Value, frozen=True, kw_only=True):
    """Whose prompt a preview is of, and whose it could be."""

    title: str
    speaker: SpaceMembership
    speakers: tuple[SpaceMembership, ...]


async def preview_speakers(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, speaker_id: UUID | None, kind: PreviewKind | None
) -> PreviewSpeakers:
    """This member, or whoever would speak, and others to look at."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
        speaker = await speaker_at_hand(session, conversation, access, speaker_id, kind)
        members = await active_members(session, conversation.space_id)
    return PreviewSpeakers(
        title=trail_title(access.space.name, conversation.name),
        speaker=speaker,
        # For others than oneself, nobody can have a model write.
        speakers=tuple(one for one in members if one.kind == "character" or one.user_id == viewer.user_id),
    )


async def preview_view(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, *, speaker_id: UUID | None, kind: PreviewKind | None
) -> Mapping[str, object]:
    """The prompt for what this member would say next here, or whoever would speak, and others to look at."""
    about = await preview_speakers(runtime, viewer, conversation_id, speaker_id=speaker_id, kind=kind)
    prompt = await preview_prompt(runtime, viewer, conversation_id, speaker_id=about.speaker.id, kind=kind)
    return {"conversation_id": conversation_id, **preview_heading(about, prompt), "prompt": prompt_view(prompt)}


def preview_heading(about: PreviewSpeakers, prompt: KeptPrompt) -> Mapping[str, object]:
    """What stands above a preview."""
    return {
        "title": about.title,
        "speaker": about.speaker,
        "name": shown_name(about.speaker.cached_display_name),
        "speakers": about.speakers,
        "model": str(prompt.request["model"]),
    }


async def draft_view(
    runtime: Runtime, viewer: Viewer, draft: Character, *, conversation_id: UUID | None
) -> Mapping[str, object]:
    """The prompt for a character with a card that is not saved."""
    prompt = await preview_draft(runtime, viewer, draft, conversation_id=conversation_id)
    return {
        "conversation_id": None,
        "name": shown_name(draft.nickname or draft.name),
        "speakers": (),
        "model": str(prompt.request["model"]),
        "prompt": prompt_view(prompt),
    }


def prompt_view(prompt: KeptPrompt) -> PromptView:
    """A prompt, with the beginnings of its blocks."""
    largest = largest_block(prompt)
    request = {name: value for name, value in prompt.request.items() if value not in (None, [], {})}
    return PromptView(
        blocks=tuple(block_view(block, largest) for block in prompt.blocks),
        tokens=sum(block.tokens for block in prompt.blocks),
        report=msgspec.convert(prompt.report, KeptReport),
        request=json.dumps(request, ensure_ascii=False, indent=2),
    )


def largest_block(prompt: KeptPrompt) -> int:
    """How many tokens the largest block has."""
    return max((block.tokens for block in prompt.blocks), default=0)


def block_view(block: KeptBlock, largest: int) -> BlockView:
    """A block, with a bar that is as long as its part of the largest one."""
    long = len(block.content) > LONGEST_SHOWN
    return BlockView(
        role=block.role if block.name is None else f"{block.role} · {shown_name(block.name)}",
        part=part_name(block.slot, block.source),
        source=" · ".join(str(block.source[name]) for name in ("stage", "id") if block.source.get(name)),
        lore=tuple(map(_lore_words, block.lore)),
        pictures=block.pictures,
        tokens=block.tokens,
        share=max(1, round(100 * block.tokens / largest)) if largest else 0,
        content=f"{block.content[:LONGEST_SHOWN]}…" if long else block.content,
    )


def _lore_words(source: LoreSource) -> str:
    found = {
        "key": _("key: {key}", key=source.key),
        "recursion": _("key: {key}, in another entry", key=source.key),
    }
    why = CAUSES.get(source.cause) or found.get(source.cause or "")
    name = shown_name(source.name) if source.name else _("Entry {number}", number=source.entry)
    return translated(_("{name} ({reason})", name=name, reason=why) if why else name)
