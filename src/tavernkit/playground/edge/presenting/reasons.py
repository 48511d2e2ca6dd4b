"""Why something is in a prompt, and why something else is not, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import ngettext, translated
from tavernkit.playground.base.names import shown_name
from tavernkit.playground.edge.presenting.prompt_preview import KeptReport
from tavernkit.playground.edge.presenting.sources import entry_name, source_words
from tavernkit.playground.story.prompting.fitting import PARTS, part_name
from tavernkit.prompt.reasons import EvictedBlock, ExplainedEntry, MissKind, NearMiss
from tavernkit.prompt.reuse import Reuse
from tavernkit.prompt.sources import Explanation
from tavernkit.values import Value


class EntryView(Value, frozen=True, kw_only=True):
    """A lore entry, and what became of it; `near` says how near it came. `href` is where it is edited."""

    name: str
    book: str
    is_activated: bool
    sentence: str
    near: str = ""
    href: str = ""


class LeftOutView(Value, frozen=True, kw_only=True):
    """Something that is not in the prompt: what it is, its tokens, why, and how it begins."""

    name: str
    sentence: str
    tokens: int = 0
    text: str = ""


class ReuseView(Value, frozen=True, kw_only=True):
    """How much of a prompt begins as the one before it did; `broken_by` is what the first difference is, and `text`
    how it begins."""

    sentence: str
    broken_by: str = ""
    text: str = ""


class ReasonsView(Value, frozen=True, kw_only=True):
    """All that is known of why a prompt is as it is. `more_entries` are not listed."""

    activated: tuple[EntryView, ...] = ()
    not_activated: tuple[EntryView, ...] = ()
    more_entries: int = 0
    evicted: tuple[LeftOutView, ...] = ()
    off: tuple[LeftOutView, ...] = ()
    warnings: tuple[str, ...] = ()
    reuse: ReuseView | None = None


def reasons_view(
    report: KeptReport, explanation: Explanation, found: Reuse | None, href: Callable[[str, str], str]
) -> ReasonsView:
    """What a prompt's explanation says of it; of one that says nothing of it, what its report says.

    `href` is where an entry of a book is edited.
    """
    lore = _verdicts(explanation, href) if explanation.lore else _entries(report, href)
    activated = tuple(entry for entry in lore if entry.is_activated)
    others = sorted((entry for entry in lore if not entry.is_activated), key=lambda entry: not entry.near)
    return ReasonsView(
        activated=activated,
        not_activated=tuple(others),
        more_entries=sum(cut.count for cut in explanation.lore_cut),
        evicted=_evicted(report, explanation),
        off=tuple(
            LeftOutView(
                name=shown_name(one.name) if one.name else PARTS.get(one.identifier, one.identifier),
                sentence=one.sentence,
            )
            for one in explanation.off
        ),
        warnings=tuple(str(warning["message"]) for warning in report.warnings),
        reuse=None if found is None else _reuse(found),
    )


def _reuse(found: Reuse) -> ReuseView:
    broken = found.broken_by
    return ReuseView(
        sentence=translated(
            _(
                "{common} of {total} tokens ({percent} %) begin the prompt as they began the one before.",
                common=found.common_tokens,
                total=found.total_tokens,
                percent=round(100 * found.share),
            )
        ),
        broken_by="" if broken is None or broken.source is None else source_words(broken.source),
        text="" if broken is None else broken.after,
    )


def _entries(report: KeptReport, href: Callable[[str, str], str]) -> tuple[EntryView, ...]:
    return tuple(
        EntryView(
            name=entry_name(one.name, one.entry),
            book=shown_name(one.book) if one.book else "",
            is_activated=one.reason == "activated",
            sentence=one.sentence,
            href=href(one.book or "", one.entry),
        )
        for one in report.lore
    )


def _verdicts(explanation: Explanation, href: Callable[[str, str], str]) -> tuple[EntryView, ...]:
    return tuple(_verdict(one, href(one.book, one.entry)) for one in explanation.lore)


def _verdict(one: ExplainedEntry, href: str) -> EntryView:
    return EntryView(
        name=entry_name(one.name, one.entry),
        book=shown_name(one.book) if one.book else "",
        is_activated=one.is_activated,
        sentence=one.sentence,
        near="" if one.is_activated or one.near_miss is None else translated(near_miss_words(one.near_miss)),
        href=href,
    )


def near_miss_words(miss: NearMiss) -> str:
    """What would have let an entry in, or by how much it has missed."""
    return _MISSES[miss.kind](miss)


def _keys(miss: NearMiss) -> str:
    return ", ".join(f"“{key}”" for key in miss.keys)


def _wanted(miss: NearMiss) -> str:
    names = ", ".join(map(shown_name, miss.wanted))
    return _("Not for {names}", names=names) if miss.excludes else _("Only for {names}", names=names)


def _where(miss: NearMiss) -> str:
    return "" if miss.message is None else translated(_("Message {number}", number=str(miss.message + 1)))


def _found(miss: NearMiss) -> str:
    if miss.message is None:
        return _("“{key}” was found", key=miss.key)
    return _("“{key}” was found in {place}", key=miss.key, place=_where(miss))


_MISSES: Mapping[MissKind, Callable[[NearMiss], str]] = {
    "depth": lambda miss: _(
        "Would activate with scan depth {depth}: {found}", depth=str(miss.depth), found=_found(miss)
    ),
    "case": lambda miss: _("{found}, but in another case", found=_found(miss)),
    "whole_words": lambda miss: _("{found}, but inside a longer word", found=_found(miss)),
    "recursion": lambda miss: _("“{key}” was found in another entry, but this one is non-recursable", key=miss.key),
    "switched_off": lambda miss: _("Disabled, but {found}", found=_found(miss)),
    "secondary_missing": lambda miss: _("{found}, but not {keys}", found=_found(miss), keys=_keys(miss)),
    "secondary_found": lambda miss: _(
        "{found}, and so was {keys}, which excludes it", found=_found(miss), keys=_keys(miss)
    ),
    "delay": lambda miss: ngettext(
        "Delayed for {count} more message", "Delayed for {count} more messages", miss.messages or 0
    ),
    "cooldown": lambda miss: ngettext(
        "Cooldown for {count} more message", "Cooldown for {count} more messages", miss.messages or 0
    ),
    "turn": lambda miss: ngettext(
        "Its turn is in {count} message", "Its turn is in {count} messages", miss.messages or 0
    ),
    "greeting": _wanted,
    "probability": lambda miss: _(
        "Probability {probability} of 100, rolled {roll}",
        probability=round(miss.probability or 0),
        roll=round(miss.roll or 0, 1),
    ),
    "budget": lambda miss: ngettext(
        "Budget short by {count} token", "Budget short by {count} tokens", miss.tokens or 0
    ),
    "group": lambda miss: (
        _("Lost the group “{group}” to {entry}", group=shown_name(miss.group), entry=shown_name(miss.lost_to))
        if miss.lost_to
        else _("Lost the group “{group}”", group=shown_name(miss.group))
    ),
    "trigger": _wanted,
    "character": _wanted,
    "tag": _wanted,
}


def _evicted(report: KeptReport, explanation: Explanation) -> tuple[LeftOutView, ...]:
    if explanation.evicted:
        return tuple(map(_evicted_block, explanation.evicted))
    evictions = () if report.trimming is None else report.trimming.evictions
    return tuple(LeftOutView(name=one.part, sentence=one.words, tokens=one.tokens) for one in evictions)


_REASONS: Mapping[str, str] = {
    "no_room": _("does not fit into the context size"),
    "behind": _("stands behind something that does not fit"),
    "out_of_reach": _("older than the messages that fit, or hidden"),
    "required": _("required, but does not fit"),
    "overflow": _("the required prompts leave no room"),
    "oldest": _("the oldest messages are trimmed first"),
    "summed_up": _("replaced by the memory"),
    "stripped": _("examples are disabled in the settings"),
    "format": _("not used by the model's format"),
    "disabled": _("disabled"),
}


def _evicted_block(block: EvictedBlock) -> LeftOutView:
    reason = _REASONS[block.reason]
    if block.short_by:
        reason = ngettext(
            "{reason}, short by {count} token", "{reason}, short by {count} tokens", block.short_by, reason=reason
        )
    if block.message is not None:
        name = translated(_("Message {number}", number=str(block.message + 1)))
    elif block.reason == "out_of_reach":
        name = translated(_("Earlier messages"))
    else:
        name = translated(part_name(block.slot or None, {"id": block.source}))
    return LeftOutView(name=name, sentence=translated(reason), tokens=block.tokens, text=block.text)
