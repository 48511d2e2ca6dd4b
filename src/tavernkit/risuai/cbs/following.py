"""Parsing a text that knows where it comes from: what macros answer, and what they let through, is known as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tavernkit.prompt.parts import TracedText, joined
from tavernkit.prompt.sources import AnySource, FromCard, FromMacro, FromPersona, SourceSpan
from tavernkit.prompt.tracing import (
    answered,
    clipped,
    filled_up,
    first_source,
    passed,
    realigned,
    source_at,
    substituted,
    traced,
    trail_of,
)
from tavernkit.risuai.cbs.blocks import CBSBlock, Each, legacy_if
from tavernkit.risuai.cbs.parse import Circumstances, Frame, Lineage, TextParse
from tavernkit.risuai.cbs.reading import Reading
from tavernkit.risuai.cbs.scanner import (
    LEGACY_CLOSING,
    MARKER,
    BlockEnd,
    BlockStart,
    Brace,
    Calculation,
    CBSScript,
    CBSStep,
    CBSTag,
    Macro,
    read_tag,
    scan,
    source_of,
)
from tavernkit.risuai.scene import RisuScene

_OF_CARD = {
    "personality": "personality",
    "charpersona": "personality",
    "description": "description",
    "chardesc": "description",
    "scenario": "scenario",
    "exampledialogue": "example_message",
    "examplemessage": "example_message",
}
"""Macros that tell a text of the character, by its field."""
_OF_PERSONA = ("persona", "userpersona")


class TracedReading(Reading):
    """Steps that know where they come from."""

    def _scanned(self, text: str) -> CBSScript:
        return traced_script(text, scan(str(text)))

    def _with(self, text: str, others: Iterable[str]) -> str:
        return joined("", (text, *others))


class TracedParse(TextParse):
    """Functions are given plain arguments: none of them may keep a traced one."""

    def __init__(
        self,
        script: CBSScript,
        circumstances: Circumstances,
        lineage: Lineage,
        temporary: dict[str, str],
        text: str,
        *,
        is_outermost: bool,
    ) -> None:
        super().__init__(script, circumstances, lineage, temporary, str(text), is_outermost=is_outermost)
        self._script = script
        self._only = _only_source(text, script)
        if self._only is None:
            self._reading = TracedReading(traced_script(text, script))
        self._told: AnySource | None = None
        parse = self._call.parse
        self._call.parse = lambda text: parse(text if self._told is None else traced(text, self._told))

    def expand(self) -> str:
        return super().expand() if self._only is None else self._expand_in_a_row(self._only)

    def _expand_in_a_row(self, source: AnySource) -> str:
        """A text of one source with macros that stand beside each other, without anything that is cut out of it."""
        pieces: list[str] = []
        trail: list[SourceSpan] = []
        at = 0
        for step in self._script:
            piece, own = (step, source) if isinstance(step, str) else self._answer_in_a_row(step, source)
            pieces.append(str(piece))
            if own is not None:
                trail += [(at, at + len(piece), own)] if piece else []
            else:
                trail += [(start + at, end + at, one) for start, end, one in trail_of(piece)]
            at += len(piece)
        return TracedText("".join(pieces), (), trail)

    def _answer_in_a_row(self, macro: CBSStep, source: AnySource) -> tuple[str, AnySource | None]:
        """What a macro answers, and the source of it, unless it knows better."""
        assert isinstance(macro, Macro)  # noqa: S101 - a text with others is not expanded in a row
        self._told = _told_by(macro.name, self._circumstances.scene)
        answer = super()._answer(macro)
        if answer is macro.source:
            return answer, source
        if isinstance(answer, TracedText):
            return answered(answer, macro.name, macro.arguments, source), None
        return answer, FromMacro(name=macro.name, arguments=clipped(macro.arguments), inside=source)

    def _answer(self, macro: Macro) -> str:
        self._told = _told_by(macro.name, self._circumstances.scene)
        answer = super()._answer(macro)
        source = macro.source
        if answer is source:
            return answer
        return answered(answer, macro.name, _arguments(macro), first_source(source))

    def _calculated(self, calculation: Calculation) -> str:
        result = super()._calculated(calculation)
        if result is calculation.source:
            return result
        return answered(result, "?", (calculation.expression,), first_source(calculation.source))

    def _close_macro(self, brace: Brace) -> None:
        frame = self._frames.pop()
        self._tag_step = frame.step
        text = self._joined(frame)
        if brace is LEGACY_CLOSING:
            result = legacy_if(text)
            self._append(_in_braces("{#", text, "#}") if result is None else result)
        else:
            self._resolve(_with_source(read_tag(str(text)), _in_braces("{{", text, "}}")))

    def _finished(self, block: CBSBlock, body: str, _end: BlockEnd) -> str:
        step = FromMacro(name=f"#{block.name}", inside=first_source(_end.source))
        finished = realigned(body, super()._finished(block, body, _end), step)
        return passed(finished, step) if finished else finished

    def _repeated(self, each: Each, body: str) -> str:
        whole = joined("", [self._replaced(body, each.slot, item) for item in each.items])
        return realigned(whole, each.finish_all(whole))

    def _replaced(self, text: str, searched: str, replacement: str) -> str:
        result = realigned(text, super()._replaced(text, searched, replacement))
        return filled_up(result, FromMacro(name=searched.strip("{}"), inside=first_source(text)))

    def _joined(self, frame: Frame) -> str:
        text = joined("", frame.pieces)
        self._fuel.burn(len(text))
        return text

    def _with_open_frames(self) -> str:
        whole, *unclosed = self._frames
        if unclosed:
            self._complain_of_unclosed(unclosed[0])
        tails = [("{{" if frame.is_macro else "<", self._joined(frame)) for frame in unclosed]
        return joined("", [*whole.pieces, *(piece for tail in tails for piece in tail)])


def _only_source(text: str, script: CBSScript) -> AnySource | None:
    """The source of a text that comes from one as a whole, if nothing but macros stands in it."""
    trail = trail_of(text)
    if len(trail) != 1 or trail[0][:2] != (0, len(text)) or "<" in text:
        return None
    return trail[0][2] if all(isinstance(step, str) or type(step) is Macro for step in script) else None


def traced_script(text: str, script: CBSScript) -> CBSScript:
    """The pieces of a text that was scanned, which know what the text knows."""
    if not isinstance(text, TracedText):
        return script
    if "<" in text:
        text = substituted(MARKER, lambda marker: _macro_for(text, marker.start(), marker[1]), text)
    steps: CBSScript = []
    at = 0
    for step in script:
        end = at + len(source_of(step))
        if isinstance(step, str):
            steps.append(text[at:end])
        else:
            steps.append(_with_source(step, text[at:end]) if isinstance(step, CBSTag) else step)
        at = end
    return steps


def _macro_for(text: str, place: int, name: str) -> str:
    source = source_at(text, place)
    return f"{{{{{name}}}}}" if source is None else traced(f"{{{{{name}}}}}", source)


def _in_braces(opening: str, text: str, closing: str) -> str:
    source = first_source(text)
    return opening + text + closing if source is None else traced(opening, source) + text + traced(closing, source)


def _with_source(tag: CBSTag, source: str) -> CBSTag:
    twin = object.__new__(type(tag))
    twin.text = tag.text
    twin.source = source
    if isinstance(tag, Macro) and isinstance(twin, Macro):
        twin.name, twin.arguments = tag.name, tag.arguments
    elif isinstance(tag, BlockStart) and isinstance(twin, BlockStart):
        twin.opens = tag.opens
    return twin


def _arguments(macro: Macro) -> Sequence[str]:
    """The arguments of a macro, which know where they come from if others than the macro's own text have said them."""
    if len(trail_of(macro.source)) < 2:
        return macro.arguments
    text = macro.source[2:-2]
    return text.split("::" if text.startswith("::", text.find(":")) else ":")[1:]


def _told_by(macro: str, scene: RisuScene) -> AnySource | None:
    """The text that a macro expands and tells."""
    if macro in _OF_PERSONA:
        return FromPersona(user=scene.user_name)
    if macro in _OF_CARD and scene.character is not None:
        return FromCard(character=scene.character.name, field=_OF_CARD[macro])
    return None
