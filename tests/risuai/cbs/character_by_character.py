"""A second parser of CBS, as plain as it can be: one character after the other, nothing read ahead, nothing kept."""

from collections.abc import Mapping

from tavernkit.risuai.cbs.blocks import CBSBlock, Each, Function, legacy_if, read_head
from tavernkit.risuai.cbs.registry import plain_name
from tavernkit.risuai.cbs.scanner import MARKER
from tavernkit.risuai.scene import RisuScene
from tavernkit.text.js_strings import replace_all

__all__ = ["expand_plainly"]

SLOTS = 512
MACRO, BLOCK, EXTRA = "macro", "block", "extra"


def expand_plainly(text: str, scene: RisuScene, answers: Mapping[str, str]) -> str:
    """The text with its blocks worked out, and the macros that there are answers for."""
    text = MARKER.sub(r"{{\1}}", text)
    texts = [""]
    kinds: list[str | None] = [None]
    blocks: dict[int, CBSBlock] = {}

    def push(kind: str) -> None:
        texts.append("")
        kinds.append(kind if len(texts) < SLOTS else None)

    def pop() -> str:
        kinds.pop()
        return texts.pop()

    def is_raw() -> bool:
        return any(block.is_raw for block in blocks.values())

    place = 0
    while place < len(text):
        character, following = text[place], text[place + 1 : place + 2]
        if character == "{" and following in ("{", "#"):
            push(MACRO)
            place += 2
            continue
        if character not in "#}" or following != "}" or kinds[-1] != MACRO:
            texts[-1] += character
            place += 1
            continue
        place += 2
        body = pop()
        if character == "#":
            result = legacy_if(body)
            texts[-1] += f"{{#{body}#}}" if result is None else result
        elif body.startswith(("#", ":")):
            head = None if is_raw() else read_head(body)
            if is_raw():
                texts[-1] += f"{{{{{body}}}}}"
                push(EXTRA)
            elif head is None:
                texts[-1] += f"{{{{{body}}}}}"
            else:
                push(BLOCK)
                blocks[len(texts)] = head if isinstance(head, CBSBlock) else head(scene)
        elif body.startswith("/") and not body.startswith("//") and kinds[-1] == BLOCK:
            block = blocks.pop(len(texts))
            finished = block.finish(pop())
            if isinstance(block, Each):
                added = "".join(replace_all(finished, block.slot, item) for item in block.items)
                text = text[:place] + block.finish_all(added) + text[place:]
            elif not isinstance(block, Function):
                texts[-1] += finished
        elif body.startswith("/") and not body.startswith("//") and kinds[-1] == EXTRA:
            texts[-2] += texts[-1] + f"{{{{{body}}}}}"
            pop()
        else:
            answer = None if is_raw() else answers.get(plain_name(body.partition(":")[0]))
            texts[-1] += f"{{{{{body}}}}}" if answer is None else answer
    whole, *unclosed = zip(texts, kinds, strict=True)
    return whole[0] + "".join(("{{" if kind == MACRO else "<") + rest for rest, kind in unclosed)
