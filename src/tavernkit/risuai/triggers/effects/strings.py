"""Texts: their characters, their parts, and patterns in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tavernkit.risuai.arrays import place_in
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack, low_level
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.run import ThrownError, TriggerRun
from tavernkit.text.js_json import is_index
from tavernkit.text.js_numbers import number_to_string, to_number
from tavernkit.text.js_regex import JsCut
from tavernkit.text.js_strings import join_halves, split_halves, utf16_length

pack = EffectPack()

_GROUP = re.compile(r"\$([0-9]+)")
_PATTERN_WITH_FLAGS = re.compile(r"/([^\n\r\u2028\u2029]+)/([gimuy]*)")


@pack.answer("v2GetCharAt", reads=("source", "index"))
def character_at(_run: TriggerRun, text: str, index: str) -> str:
    units = split_halves(text)
    place = place_in(units, to_number(index))
    return "null" if place is None else units[place]


@pack.answer("v2SetCharAt", reads=("source", "index", "value"))
def set_character_at(_run: TriggerRun, text: str, index: str, new: str) -> str:
    characters = list(text)
    number = to_number(index)
    if is_index(number_to_string(number)):
        # Beyond the end there is a gap, which is written as nothing.
        characters[int(number) : int(number) + 1] = [new]
    return "".join(characters)


@pack.answer("v2GetCharCount", reads=("source",))
def character_count(_run: TriggerRun, text: str) -> str:
    return str(utf16_length(text))


@pack.answer("v2ToLowerCase", reads=("source",))
def lower_case(_run: TriggerRun, text: str) -> str:
    return text.lower()


@pack.answer("v2ToUpperCase", reads=("source",))
def upper_case(_run: TriggerRun, text: str) -> str:
    return text.upper()


@pack.answer("v2ConcatString", reads=("source1", "source2"))
def concatenate(_run: TriggerRun, first: str, second: str) -> str:
    return first + second


@pack.effect("v2SplitString")
def split(fields: EffectFields) -> Action:
    source, output = fields.operand("source"), fields.optional_text("outputVar")
    kind = fields.text("delimiterType")
    delimiter = Operand(text=fields.optional_text("delimiter"), is_variable=kind == "var")

    def act(run: TriggerRun) -> None:
        text = run.text(source)
        between = run.text(delimiter)
        if kind == "regex":
            parts = _split_by_pattern(run, text, between)
        else:
            parts = text.split(between) if between else list(split_halves(text))
        run.put(output, run.to_json(parts))

    return act


def _split_by_pattern(run: TriggerRun, text: str, written: str) -> Sequence[str | None]:
    match = _PATTERN_WITH_FLAGS.fullmatch(written)
    source, flags = (match[1], match[2]) if match else (written, "")
    try:
        pattern = run.regex(source, flags)
        return run.match(text, lambda limit: pattern.split(text, limit=limit))
    except ThrownError:
        return [text]


@pack.answer("v2RegexTest", reads=("value", "regex", "flags"), otherwise="0")
def regex_test(run: TriggerRun, text: str, regex: str, flags: str) -> str:
    return "1" if run.test(run.regex(regex, flags), text) else "0"


@pack.answer("v2ExtractRegex", reads=("value", "regex", "flags", "result"))
def extract(run: TriggerRun, text: str, regex: str, flags: str, result: str) -> str:
    groups = _first_match(run, text, regex, flags) or [""]
    return _fill(run, result, [group or "" for group in groups], missing="")


@pack.answer("extractRegex", reads=("value",), fixed=("regex", "flags", "result"), guard=low_level)
def extract_v1(run: TriggerRun, text: str, regex: str, flags: str, result: str) -> str:
    groups = _first_match(run, text, regex, flags)
    if groups is None:
        raise ThrownError(f"The pattern {regex[:40]!r} was not found.")
    texts = ["undefined" if group is None else group for group in groups]
    return _fill(run, result, texts, missing="undefined")


def _first_match(run: TriggerRun, text: str, source: str, flags: str) -> list[str | None] | None:
    """The first match and its groups, or None."""
    pattern = run.regex(source, flags)
    found = run.match(text, lambda limit: pattern.find_all(text, limit=limit))
    return [found[0].text, *found[0].groups] if found else None


def _fill(run: TriggerRun, template: str, groups: Sequence[str], *, missing: str) -> str:
    """The template with `$1`, `$&` and `$$`."""

    def group(found: re.Match[str]) -> str:
        place = _place(found[1])
        text = groups[place] if place < len(groups) else missing
        run.shared.budget.write(len(text))
        return text

    return run.replace(_GROUP.sub(group, template), "$&", groups[0]).replace("$$", "$")


def _place(digits: str) -> int:
    return int(digits[:9])  # no pattern has so many groups


@pack.effect("v2ReplaceString")
def replace(fields: EffectFields) -> Action:
    source, regex, flags = fields.operand("source"), fields.operand("regex"), fields.operand("flags")
    result, replacement = fields.operand("result"), fields.operand("replacement")
    output = fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        text = run.text(source)
        try:
            pattern_source, form, new = run.text(regex), run.text(result), run.text(replacement)
            pattern = run.regex(pattern_source, run.text(flags))
            cuts, rest = run.match(text, lambda limit: pattern.cut(text, limit=limit))
            pieces = [piece for cut in cuts for piece in (cut.before, _replaced(run, cut, form, new))]
            changed = join_halves("".join([*pieces, rest]))
        except ThrownError:
            changed = run.text(source)
        run.put(output, changed)

    return act


def _replaced(run: TriggerRun, cut: JsCut, form: str, new: str) -> str:
    """What takes the place of one match: for a lone `$1` the match with that group replaced, else the form, filled."""
    whole = cut.groups[0] or ""
    # RisuAI takes the last two things that it is told for no groups. With named groups it is told one thing more, so
    # that the offset of the match passes for a group.
    groups = [*cut.groups[1:], *([] if cut.named is None else [str(cut.start) if cut.start else ""])]
    run.shared.budget.step()
    run.shared.budget.write(len(form) + len(new))
    lone = _GROUP.fullmatch(form)
    if lone is not None:
        place = _place(lone[1])
        if place == 0:
            return new
        target = groups[place - 1] if place <= len(groups) else None
        if target:
            return run.replace(whole, target, new, 1)
    return _fill(run, form, [whole, *(group or "" for group in groups)], missing="")
