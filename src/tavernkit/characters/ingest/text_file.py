"""Cards as JSON, on their own or inside something else, and as YAML, which text-generation-webui and people write."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from tavernkit.characters.character import Bundle
from tavernkit.characters.decode import check_has_card_fields, decode_card
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ParseError
from tavernkit.reading import ReportBuilder, decode_text, parse_json
from tavernkit.values import Json


def read_json(data: bytes, limits: CardLimits) -> Bundle:
    """Read a JSON file that is a card."""
    report = ReportBuilder()
    source = parse_card_json(data, report, limits, what="The JSON file")
    check_has_card_fields(source)
    card = decode_card(source, report, limits=limits)
    return Bundle(format="json", card=card, report=report.build("json"))


def parse_card_json(
    data: bytes, report: ReportBuilder, limits: CardLimits, *, what: str, error: type[ParseError] = ParseError
) -> Json:
    """Parse JSON under the limits for cards, and note bytes that are not text; `error` is what its container raises."""
    if not _is_utf8(data):
        report.mended("", "bytes that are not UTF-8 became replacement characters")
    try:
        return parse_json(data, what=what, max_bytes=limits.json_bytes, max_values=limits.json_values)
    except ParseError as problem:
        raise error(str(problem)) from None


def _is_utf8(data: bytes) -> bool:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


DEEPEST = 50
WEBUI_FIELDS = {"context": "description", "greeting": "first_mes"}
CONSTANTS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
INTEGER = re.compile(r"[-+]?[0-9]{1,300}", re.ASCII)
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)


def read_yaml(data: bytes, limits: CardLimits) -> Bundle:
    """Read a YAML file; `context` and `greeting` are what text-generation-webui calls description and first message."""
    report = ReportBuilder()
    source = _parse(data, limits)
    if not isinstance(source, dict):
        raise ParseError("The file looks like plain text, not like a character card.")
    if "spec" not in source and any(key in source for key in WEBUI_FIELDS):
        source = _from_webui(source, report)
    check_has_card_fields(source)
    return Bundle(format="yaml", card=decode_card(source, report, limits=limits), report=report.build("yaml"))


def _from_webui(source: dict[str, Json], report: ReportBuilder) -> dict[str, Json]:
    # As in SillyTavern, two fields have a meaning in a card; all others stay beside it.
    for old, new in WEBUI_FIELDS.items():
        if old in source:
            report.converted(old, f"text-generation-webui's name for {new}")
    data = {new: source.get(old, "") for old, new in {"name": "name", **WEBUI_FIELDS}.items()}
    rest = {key: value for key, value in source.items() if key != "name" and key not in WEBUI_FIELDS}
    for key in rest:
        report.ignored(key, "a field of text-generation-webui that a card does not have; kept, not used")
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data, **rest}


def _parse(data: bytes, limits: CardLimits) -> Json:
    if len(data) > limits.yaml_bytes:
        raise ParseError(f"The YAML file is {len(data):,} bytes long; at most {limits.yaml_bytes:,} are read.")
    text = decode_text(data, what="The file")
    parser = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        return _build(yaml.parse(text, Loader=parser), limits)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise _no_yaml(f"{error.problem or error.context}{where}") from None
    except yaml.reader.ReaderError as error:
        raise _no_yaml(f"{error.reason} at character {error.position + 1}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _no_yaml(str(error)) from None


def _no_yaml(problem: str) -> ParseError:
    return ParseError(f"The file is not a picture, an archive, JSON or valid YAML: {problem}.")


def _build(events: Iterator[yaml.Event], limits: CardLimits) -> Json:
    """Build plain values from the parser's events: no tags, no references, and no more than the limits allow."""
    root: list[Json] = []
    open_lists: list[list[Json]] = [root]
    is_mapping: list[bool] = [False]
    for count, event in enumerate(events):
        if count > limits.yaml_values:
            raise ParseError(f"The YAML file contains more than {limits.yaml_values:,} values.")
        match event:
            case yaml.AliasEvent():
                raise ParseError(f"The YAML file uses a reference (*{event.anchor}), which is not allowed in a card.")
            case yaml.ScalarEvent():
                open_lists[-1].append(_scalar(event))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                open_lists.append([])
                is_mapping.append(isinstance(event, yaml.MappingStartEvent))
                if len(open_lists) > DEEPEST:
                    raise ParseError(f"The YAML file is nested more than {DEEPEST} levels deep.")
            case yaml.CollectionEndEvent():
                items = open_lists.pop()
                open_lists[-1].append(_mapping(items) if is_mapping.pop() else items)
            case _:
                continue
    return root[0] if root else None


def _mapping(items: list[Json]) -> dict[str, Json]:
    keys, values = items[::2], items[1::2]
    if any(isinstance(key, dict | list) for key in keys):
        raise ParseError("The YAML file uses a list or an object as the name of a field.")
    names = (key if isinstance(key, str) else str(key).lower() for key in keys)
    return dict(zip(names, values, strict=True))


def _scalar(event: yaml.ScalarEvent) -> Json:
    text: str = event.value
    if event.style or event.tag:
        return text
    if text in CONSTANTS:
        return CONSTANTS[text]
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else text
