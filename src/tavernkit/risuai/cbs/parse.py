"""One parse of one text: frames that open and close from left to right, and macros that become text in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tavernkit.risuai.cbs.blocks import CBSBlock, Each, Function, legacy_if
from tavernkit.risuai.cbs.calculator import calculate
from tavernkit.risuai.cbs.call import CBSCall, CBSFunction, LeftAsText, ParseReturn
from tavernkit.risuai.cbs.limits import COST_OF_CALCULATING, COST_OF_STEP, DEEPEST_FRAME, MOST_PARSES, Fuel, OutOfFuel
from tavernkit.risuai.cbs.options import CBSOptions
from tavernkit.risuai.cbs.reading import Reading
from tavernkit.risuai.cbs.scanner import (
    LEGACY_CLOSING,
    BlockEnd,
    BlockStart,
    Brace,
    Calculation,
    CBSScript,
    CBSStep,
    CBSTag,
    FunctionCall,
    Macro,
    ScriptCache,
    read_tag,
)
from tavernkit.risuai.errors import CBSStackOverflowError, CBSSyntaxError
from tavernkit.risuai.problems import FOR_LATER, CBSProblem, ProblemHandler, StackProblem, SyntaxProblem
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_strings import replace_all

TOO_MANY_PARSES: Final = "ERROR: Call stack limit reached"
STACK_LIMIT: Final = (
    f"More than {MOST_PARSES} texts were to be parsed within one. "
    "Look for a function that calls itself, or call functions less often."
)
SHOWN: Final = 80
"""How much is shown of a text, or of a macro that never closes."""


@dataclass(slots=True, kw_only=True, eq=False)
class Circumstances:
    """What all parses that come from one text share; `text` is that text, and `parser` what parses each of them."""

    text: str
    scene: RisuScene
    functions: Mapping[str, CBSFunction]
    cache: ScriptCache
    fuel: Fuel
    parser: type[TextParse]
    tell: ProblemHandler | None = None


@dataclass(slots=True, eq=False)
class Lineage:
    """What parses hand on: how many there were, and the functions that a text defined.

    `{{call::…}}` parses with the lineage of the text that it stands in, and a function of the table with another one
    that starts from it. Neither counts what the other did, and the count never falls.
    """

    options: CBSOptions
    parses: int = 0
    defined: dict[str, str] | None = None

    def branch(self) -> Lineage:
        """The lineage for texts that functions of the table bring in; RisuAI forgets there that it is for display."""
        options = self.options.with_(is_display=False) if self.options.is_display else self.options
        return Lineage(options, parses=self.parses)


class Frame:
    """A text that is still open: the whole, what follows a `{{` (`is_macro`), or a block's.

    Without a block and not a macro's, it is what the head of a block opened inside a raw block.
    `step` is where it opened, which only strict parses ask for.
    """

    __slots__ = ("block", "is_macro", "pieces", "step")

    def __init__(self, step: int, is_macro: bool, block: CBSBlock | None) -> None:
        self.pieces: list[str] = []
        self.is_macro = is_macro
        self.block = block
        self.step = step


def parse(
    text: str, circumstances: Circumstances, lineage: Lineage, temporary: dict[str, str], *, is_outermost: bool = False
) -> str:
    """Expand a text; the outermost one is the one whose positions errors can name."""
    lineage.parses += 1
    if lineage.parses > MOST_PARSES:
        return _refuse_to_parse(circumstances, lineage)
    if "{" not in text and "<" not in text:
        return text
    script = circumstances.cache.script_of(str(text))
    circumstances.fuel.burn_for(text, len(script))
    run = circumstances.parser(script, circumstances, lineage, temporary, text, is_outermost=is_outermost)
    try:
        return run.expand()
    except ParseReturn as returned:
        return returned.text


def _parse_for_functions(circumstances: Circumstances, branch: Lineage) -> Callable[[str], str]:
    return lambda text: parse(text, circumstances, branch, {})


def _refuse_to_parse(circumstances: Circumstances, lineage: Lineage) -> str:
    if circumstances.tell is not None:
        circumstances.tell(StackProblem(message=STACK_LIMIT, snippet=circumstances.text[:SHOWN]))
    if lineage.options.strict:
        raise CBSStackOverflowError(STACK_LIMIT)
    return TOO_MANY_PARSES


class TextParse:
    """The state of a parse: the frames that are open, and what is still to be read."""

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
        self._circumstances = circumstances
        self._fuel = circumstances.fuel
        self._lineage = lineage
        self._defined = {} if lineage.defined is None else lineage.defined
        self._is_strict = lineage.options.strict
        self._source = text if is_outermost else None
        self._reading = Reading(script)
        self._frames = [Frame(0, False, None)]
        self._is_raw = False
        self._tag_step = 0
        # One for all macros of the parse: what changes from one to the next is the text and the arguments.
        self._call = CBSCall(
            text="",
            arguments=(),
            scene=circumstances.scene,
            options=lineage.options,
            temporary=temporary,
            parse=_parse_for_functions(circumstances, lineage.branch()),
        )

    def expand(self) -> str:
        for steps in self._reading:
            self._read(steps)
        return self._with_open_frames()

    def _read(self, steps: Iterator[CBSStep]) -> None:
        """Take the steps, until they end or others come in between."""
        frames = self._frames
        reading = self._reading
        answer = self._answer
        append = frames[-1].pieces.append
        is_deep = len(frames) >= DEEPEST_FRAME
        is_plain = not (is_deep or self._is_raw)
        for step in steps:
            if isinstance(step, str):
                append(step)
                continue
            if is_plain and type(step) is Macro:
                append(answer(step))
                continue
            if isinstance(step, Brace):
                self._take_brace(step)
            elif is_deep:
                self._open_macro()
                self._append(f"{step.text}}}}}")
            else:
                if self._is_strict:
                    self._tag_step = reading.place
                self._resolve(step)
            if reading.steps is not steps:
                return
            append = frames[-1].pieces.append
            is_deep = len(frames) >= DEEPEST_FRAME
            is_plain = not (is_deep or self._is_raw)

    def _take_brace(self, brace: Brace) -> None:
        if brace.is_opening:
            self._open_macro()
        elif self._frames[-1].is_macro:
            self._close_macro(brace)
        else:
            self._append(brace.source)

    def _open_macro(self) -> None:
        step = self._reading.place if self._is_strict else 0
        self._frames.append(Frame(step, len(self._frames) < DEEPEST_FRAME, None))

    def _close_macro(self, brace: Brace) -> None:
        frame = self._frames.pop()
        self._tag_step = frame.step
        text = self._joined(frame)
        if brace is LEGACY_CLOSING:
            result = legacy_if(text)
            self._append(f"{{#{text}#}}" if result is None else result)
        else:
            self._resolve(read_tag(text))

    def _resolve(self, tag: CBSTag) -> None:
        if isinstance(tag, BlockStart):
            self._start_block(tag)
        elif isinstance(tag, BlockEnd):
            self._end_block(tag)
        elif isinstance(tag, FunctionCall) and self._call_defined(tag):
            return
        elif self._is_raw:
            self._append(tag.source)
        elif isinstance(tag, Macro):
            self._append(self._answer(tag))
        elif isinstance(tag, Calculation):
            self._append(self._calculated(tag))

    def _answer(self, macro: Macro) -> str:
        """What a function of the table says, or the macro as it was written."""
        function = self._circumstances.functions.get(macro.name)
        if function is None:
            self._tell_unknown(macro)
            return macro.source
        call = self._call
        call.text = macro.text
        call.arguments = macro.arguments
        try:
            answer = function(call)
        except LeftAsText:
            return macro.source
        if answer is None:
            return macro.source
        fuel = self._fuel
        fuel.left -= len(answer)
        if fuel.left < 0:
            raise OutOfFuel
        return answer

    def _tell_unknown(self, macro: Macro) -> None:
        tell = self._circumstances.tell
        if tell is not None and macro.name not in FOR_LATER and not macro.text.startswith("//"):
            name = macro.text.partition(":")[0]
            tell(CBSProblem(code="unknown_macro", message=f"There is no macro {name!r}.", snippet=macro.source))

    def _calculated(self, calculation: Calculation) -> str:
        self._fuel.burn(COST_OF_CALCULATING * len(calculation.text))
        try:
            return number_to_string(calculate(calculation.expression, self._circumstances.scene))
        except LeftAsText:
            return calculation.source

    def _start_block(self, head: BlockStart) -> None:
        if self._is_raw:
            if head.text == ":else":
                self._complain("{{:else}} inside a raw block keeps it from closing", "else", head.source)
            self._append(head.source)
            self._open_block(None)
            return
        opens = head.opens
        if opens is None:
            self._check_head(head)
            self._append(head.source)
            return
        block = opens if isinstance(opens, CBSBlock) else opens(self._circumstances.scene)
        self._is_raw = block.is_raw
        self._open_block(block)

    def _open_block(self, block: CBSBlock | None) -> None:
        self._frames.append(Frame(self._tag_step, False, block))

    def _end_block(self, end: BlockEnd) -> None:
        frame = self._frames[-1]
        if frame.is_macro or len(self._frames) == 1:
            self._complain(f"{end.source} closes a block, but none is open", end.text[1:], end.source)
            self._append(end.source)
            return
        self._frames.pop()
        body = self._joined(frame)
        block = frame.block
        if block is None:
            self._append(body + end.source)
            return
        if block.is_raw:
            self._is_raw = False
        body = self._finished(block, body, end)
        if isinstance(block, Each):
            self._reading.insert(self._repeated(block, body), self._fuel)
        elif isinstance(block, Function):
            self._defined[block.function] = body
        else:
            self._append(body)

    def _finished(self, block: CBSBlock, body: str, _end: BlockEnd) -> str:
        """What a block makes of its body, when its end has been read."""
        return block.finish(body)

    def _repeated(self, each: Each, body: str) -> str:
        return each.finish_all("".join([self._replaced(body, each.slot, item) for item in each.items]))

    def _replaced(self, text: str, searched: str, replacement: str) -> str:
        # A `$` can bring in the whole text around the place, so its cost is counted before it is paid.
        cost_of_each = len(replacement) + replacement.count("$") * len(text)
        self._fuel.burn(COST_OF_STEP + len(text) + text.count(searched) * cost_of_each)
        return replace_all(text, searched, replacement)

    def _call_defined(self, call: FunctionCall) -> bool:
        lineage = self._lineage
        if lineage.parses > MOST_PARSES:
            self._append(_refuse_to_parse(self._circumstances, lineage))
            return True
        body = self._defined.get(call.arguments[0])
        if body is None:
            return False
        for place, argument in enumerate(call.arguments):
            body = self._replaced(body, f"{{{{arg::{place}}}}}", argument)
        lineage.defined = self._defined
        self._append(parse(body, self._circumstances, lineage, {}))
        return True

    def _append(self, text: str) -> None:
        self._frames[-1].pieces.append(text)

    def _joined(self, frame: Frame) -> str:
        text = "".join(frame.pieces)
        self._fuel.burn(len(text))
        return text

    def _with_open_frames(self) -> str:
        whole, *unclosed = self._frames
        if unclosed:
            self._complain_of_unclosed(unclosed[0])
        tails = (("{{" if frame.is_macro else "<") + self._joined(frame) for frame in unclosed)
        return "".join([*whole.pieces, *tails])

    def _check_head(self, head: BlockStart) -> None:
        if head.text != ":else":
            self._complain(f"{head.source} opens no block that there is", head.text[1:], head.source)
            return
        block = self._frames[-1].block
        if block is None or block.name != "when":
            self._complain("{{:else}} stands outside of {{#when}}", "else", head.source)

    def _complain_of_unclosed(self, frame: Frame) -> None:
        self._tag_step = frame.step
        if frame.block is None:
            opening = "{{" + "".join(frame.pieces)[:SHOWN].partition("\n")[0]
            self._complain("A macro opens with {{ and never closes", None, opening)
        else:
            name = frame.block.name
            self._complain(f"{{{{#{name}}}}} opens and never closes", name, f"{{{{#{name}")

    def _complain(self, problem: str, block_type: str | None, snippet: str) -> None:
        """Tell whoever watches, and raise when parsing is strict; RisuAI itself carries on."""
        is_strict, tell = self._is_strict, self._circumstances.tell
        if not is_strict and tell is None:
            return
        message, position = f"{problem}.", None
        if is_strict:
            position = None if self._source is None else self._reading.position_of(self._tag_step, self._source)
            where = "in a text that a macro brought in" if position is None else f"at character {position}"
            message = f"{problem}, {where}."
        if tell is not None:
            tell(SyntaxProblem(message=message, snippet=snippet, position=position, block_type=block_type))
        if is_strict:
            raise CBSSyntaxError(message, position=position, block_type=block_type)
