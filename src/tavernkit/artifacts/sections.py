"""The system prompt as an ordered list of named sections, which are blocks; nothing is searched for in their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile

from tavernkit.artifacts.candidate import InclusionReason, Prepared, sources_of
from tavernkit.artifacts.content import write_json
from tavernkit.artifacts.inclusion import Operation, Place
from tavernkit.artifacts.json_patch import merge_patch
from tavernkit.artifacts.timeline import message_source
from tavernkit.errors import ParseError
from tavernkit.prompt.block import ARTIFACT, Block
from tavernkit.prompt.context import IdSource
from tavernkit.reading import parse_json

BETWEEN = "\n\n"
"""What stands between the parts of one text."""

_HEADINGS = ("new_chat", "chat_start")
"""Blocks that head the chat, and belong to it."""

_CREATED = "section:"


class SystemSections:
    """The blocks of a prompt, of which the system's sections are changed in place.

    They end at `end`, where the chat begins. `report` is told what became of each artifact. Everything that enters
    between sections is joined once, in the order of the artifacts, into one block before them and one behind.
    """

    def __init__(self, blocks: Sequence[Block], *, ids: IdSource, is_text: bool, end: int | None) -> None:
        self.blocks = list(blocks)
        self._ids = ids
        self._end = "\n" if is_text else ""
        self._own = [place for place, block in enumerate(blocks[:end]) if _is_section(block)]
        self._created: list[Block] = []
        self._places: dict[str | None, int] | None = None

    def apply(self, prepared: Iterable[Prepared], report: Callable[[Prepared, InclusionReason], None]) -> None:
        """Apply all of them: what replaces, then what merges, then what wraps, then what is inserted."""
        by_operation: dict[Operation, list[Prepared]] = {"replace": [], "merge_section": [], "wrap": [], "insert": []}
        around: dict[Place | None, list[Prepared]] = {"wrap": [], "before": [], "after": []}
        for item in prepared:
            by_operation[item.inclusion.operation].append(item)
        self._replace(by_operation["replace"], report)
        self._merge(by_operation["merge_section"], report)
        by_section: dict[str, list[Prepared]] = {}
        for item in (*by_operation["wrap"], *by_operation["insert"]):
            section = item.inclusion.section
            if section is None:
                report(item, "placed")
                around[item.inclusion.place].append(item)
            else:
                by_section.setdefault(section, []).append(item)
        self._surround_sections(by_section, report)
        self._surround(before=around["before"], wraps=around["wrap"], behind=around["after"])

    def _replace(self, items: Sequence[Prepared], report: Callable[[Prepared, InclusionReason], None]) -> None:
        whole = [item for item in items if item.inclusion.section is None]
        last = {item.inclusion.section: item for item in items}
        for item in items:
            if item is not last[item.inclusion.section] or (whole and item.inclusion.section is not None):
                report(item, "superseded")
            elif item.inclusion.section is None:
                self._replace_whole(item)
                report(item, "placed")
            else:
                place = self._find(item.inclusion.section)
                if place is None:
                    report(item, "section_not_found")
                else:
                    self.blocks[place] = changed(self.blocks[place], item.before + self._end, [item])
                    report(item, "placed")

    def _replace_whole(self, item: Prepared) -> None:
        if not self._own:
            self._created.append(self._block([item], item.before, slot=ARTIFACT))
            return
        first, *rest = self._own
        self.blocks[first] = changed(self.blocks[first], item.before + self._end, [item]).with_(slot=ARTIFACT)
        for place in rest:
            self.blocks[place] = self.blocks[place].disable()
        self._own = [first]
        self._places = None

    def _merge(self, items: Sequence[Prepared], report: Callable[[Prepared, InclusionReason], None]) -> None:
        """Merge all into their sections, and then change each section once."""
        texts: dict[str, str] = {}
        merged: dict[str, list[Prepared]] = {}
        for item in items:
            name = str(item.inclusion.section)
            text = texts.get(name)
            if text is None:
                place = self._find(name)
                text = None if place is None else self.blocks[place].content
            content = (
                merged_json("{}" if text is None else text, item.value)
                if item.merges_json
                else _merged_text(text or "", item)
            )
            report(item, "merge_type_error" if content is None else "placed")
            if content is not None:
                texts[name] = content
                merged.setdefault(name, []).append(item)
        for name, by in merged.items():
            place = self._find(name)
            if place is None:
                block = self._block(by[:1], texts[name], slot=_CREATED + name)
                self._created.append(changed(block, block.content, by[1:]) if by[1:] else block)
            else:
                self.blocks[place] = changed(self.blocks[place], texts[name], by)

    def _surround_sections(
        self, by_section: Mapping[str, Sequence[Prepared]], report: Callable[[Prepared, InclusionReason], None]
    ) -> None:
        for name, items in by_section.items():
            place = self._find(name)
            for item in items:
                report(item, "section_not_found" if place is None else "placed")
            if place is not None:
                wrapping = [item for item in items if item.inclusion.operation == "wrap"]
                before = [item.before for item in items if item.inclusion.place == "before"]
                behind = [item.before for item in items if item.inclusion.place == "after"]
                text = wrapped(self.blocks[place].content, wrapping, before=before, behind=behind)
                self.blocks[place] = changed(self.blocks[place], text, items)

    def _surround(self, *, before: list[Prepared], wraps: list[Prepared], behind: list[Prepared]) -> None:
        end = self._own[-1] + 1 if self._own else 0
        closing = [item for item in reversed(wraps) if item.after.strip()]
        after = [*((item, item.after) for item in closing), *((item, item.before) for item in behind)]
        self.blocks[end:end] = [*self._created, *self._joined(after)]
        opening = [item for item in (*before, *wraps) if item.before.strip()]
        start = self._own[0] if self._own else 0
        self.blocks[start:start] = self._joined([(item, item.before) for item in opening])

    def _joined(self, parts: Sequence[tuple[Prepared, str]]) -> list[Block]:
        if not parts:
            return []
        text = BETWEEN.join(text for _, text in parts)
        return [self._block([item for item, _ in parts], text, slot=ARTIFACT)]

    def _block(self, items: Sequence[Prepared], text: str, *, slot: str) -> Block:
        return Block(
            id=self._ids(),
            role="system",
            content=text + self._end,
            slot=slot,
            removable=False,
            token_budget_group="system",
            metadata=credit(items),
        )

    def _find(self, name: str) -> int | None:
        if self._places is None:
            self._places = {}
            for place, block in enumerate(self.blocks):
                if block.role == "system" and block.slot not in self._places and _is_system(block):
                    self._places[block.slot] = place
        return self._places.get(name)


def system_text(blocks: Iterable[Block]) -> str:
    """What the system prompt of a build says: its sections, as they stand before the chat."""
    before_chat = takewhile(lambda block: message_source(block) is None, blocks)
    texts = (block.content.strip() for block in before_chat if _is_section(block))
    return BETWEEN.join(text for text in texts if text)


def wrapped(text: str, wraps: Sequence[Prepared], *, before: Iterable[str] = (), behind: Iterable[str] = ()) -> str:
    """A text with what is put around it: the earlier of two wraps is the outer one. Its last line breaks stay last."""
    body = text.rstrip("\n")
    parts = [
        *before,
        *(item.before for item in wraps),
        body,
        *(item.after for item in reversed(wraps)),
        *behind,
    ]
    return BETWEEN.join(part for part in parts if part.strip()) + text[len(body) :]


def changed(block: Block, content: str, by: Sequence[Prepared]) -> Block:
    """A block whose content artifacts have changed; it still says where it came from, and by whom it was changed."""
    sources = [*sources_of(block), *(item.source for item in by)]
    return block.with_(content=content, metadata={**block.metadata, "artifacts": sources})


def credit(items: Sequence[Prepared]) -> Mapping[str, object]:
    """The metadata of a block that artifacts have made."""
    if len(items) == 1:
        return {"source": items[0].source, "artifacts": [items[0].source]}
    sources = [item.source for item in items]
    joined = "+".join(source["id"] for source in sources)
    return {"source": {"stage": "artifacts", "id": joined}, "artifacts": sources}


def merged_json(text: str, patch: object, *, key: str | None = None) -> str | None:
    """A JSON object with a merge patch applied to it, or to what it has under a key; None if either is no object."""
    try:
        document = parse_json(text, what="A section")
    except ParseError:
        return None
    inner = document if key is None else document.get(key, {}) if isinstance(document, dict) else None
    if not isinstance(patch, dict) or not isinstance(document, dict) or not isinstance(inner, dict):
        return None
    merged = merge_patch(inner, patch)
    return write_json(merged if key is None else {**document, key: merged}) + text[len(text.rstrip("\n")) :]


def _merged_text(text: str, item: Prepared) -> str:
    body = text.rstrip("\n")
    end = text[len(body) :]
    if item.inclusion.strategy == "replace" or not body.strip():
        return item.before + end
    parts = (body, item.before) if item.inclusion.strategy == "append" else (item.before, body)
    return BETWEEN.join(parts) + end


def _is_system(block: Block) -> bool:
    return block.role == "system" and block.enabled and message_source(block) is None


def _is_section(block: Block) -> bool:
    return _is_system(block) and block.token_budget_group == "system" and block.slot not in _HEADINGS
