"""BYAF, the Backyard archive: a manifest, characters, and scenarios."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from tavernkit.characters.character import Bundle
from tavernkit.characters.decode import decode_card
from tavernkit.characters.ingest.archive import Archive
from tavernkit.characters.ingest.text_file import parse_card_json
from tavernkit.characters.limits import CardLimits
from tavernkit.errors import ArchiveParseError, ParseError
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.values import Json

MANIFEST_FILE = "manifest.json"
MOST_SCENARIOS = 200
CHATS = "scenarios"
"""What a report names where it says that there are chats."""

# The hash marks a speaker at the start of a line. Doubled braces are macros already and stay as they are.
PLACEHOLDER = re.compile(r"#\{(user|character)\}(?=:)|(?<!\{)\{(user|character)\}(?!\})", re.IGNORECASE)


class ByafParts(NamedTuple):
    """The documents of a BYAF archive: the first character, the folder that it lies in, and all scenarios."""

    manifest: LooseObject
    character: LooseObject
    folder: str
    scenarios: list[LooseObject]

    @property
    def name(self) -> str:
        return self.character.text("name") or self.character.text("displayName")


def read_parts(archive: Archive, limits: CardLimits, report: ReportBuilder) -> ByafParts:
    """Read the documents of a BYAF archive; a scenario that cannot be read is noted and left out."""
    manifest = LooseObject(_object(archive, MANIFEST_FILE, report, limits), report, "manifest")
    path = _character_path(manifest)
    character = LooseObject(_object(archive, path, report, limits), report, "character")
    return ByafParts(manifest, character, posixpath.dirname(path), _scenarios(archive, manifest, report, limits))


def read_byaf(archive: Archive, limits: CardLimits) -> Bundle:
    """Read the first character of a BYAF archive, with the first scenario as its setting.

    Later scenarios give alternate greetings. What has no place in a card is kept in the extension `byaf`, but for the
    chats, which `tavernkit.chats` reads from the same file.
    """
    report = ReportBuilder()
    parts = read_parts(archive, limits, report)
    pictures = _portraits(archive, parts)
    main = next(iter(pictures), None)
    pictures |= {
        path: picture for path, picture in _backgrounds(archive, parts, report).items() if path not in pictures
    }
    card = decode_card(_card(parts, list(pictures.values())), report, limits=limits)
    _note_chats(parts.scenarios, report)
    others = [name for name in archive.names if name not in pictures and not name.endswith(".json")]
    return Bundle(
        format="byaf",
        card=card,
        image=None if main is None else archive.picture(main, report),
        assets=tuple(archive.asset(name) for name in (*pictures, *others)),
        report=report.build("byaf"),
    )


def _object(archive: Archive, path: str, report: ReportBuilder, limits: CardLimits) -> dict[str, Json]:
    value = parse_card_json(archive.read(path), report, limits, what=f"The archive's {path}", error=ArchiveParseError)
    if not isinstance(value, dict):
        raise ArchiveParseError(f"The archive's {path} must be a JSON object.")
    return value


def _character_path(manifest: LooseObject) -> str:
    paths = manifest.texts("characters")
    if not paths:
        raise ArchiveParseError(f"The archive's {MANIFEST_FILE} names no characters.")
    if len(paths) > 1:
        manifest.report.ignored("manifest.characters", f"{len(paths) - 1} further characters; the first one is read")
    return paths[0]


def _scenarios(archive: Archive, manifest: LooseObject, report: ReportBuilder, limits: CardLimits) -> list[LooseObject]:
    scenarios: list[LooseObject] = []
    paths = manifest.texts("scenarios")
    if len(paths) > MOST_SCENARIOS:
        report.ignored("manifest.scenarios", f"{len(paths)} scenarios; the first {MOST_SCENARIOS} are read")
    for path in paths[:MOST_SCENARIOS]:
        try:
            scenarios.append(LooseObject(_object(archive, path, report, limits), report, path))
        except ParseError as error:
            report.broken(path, f"the scenario cannot be read: {error}")
    return scenarios


def _card(parts: ByafParts, pictures: list[Json]) -> dict[str, Json]:
    manifest, character, scenarios = parts.manifest, parts.character, parts.scenarios
    report = character.report
    first = scenarios[0] if scenarios else LooseObject({}, report, "scenario")
    author = manifest.nested("author")
    first_mes, *alternates = _greetings(first) or [""]
    alternates += [greeting for scenario in scenarios[1:] for greeting in _greetings(scenario)]
    data: dict[str, Json] = {
        "name": parts.name,
        "description": to_macros(character.text("persona")),
        "scenario": to_macros(first.text("narrative")),
        "first_mes": first_mes,
        "alternate_greetings": [text for text in dict.fromkeys(alternates) if text != first_mes],
        "mes_example": _examples(first),
        "system_prompt": to_macros(first.text("formattingInstructions")),
        "creator": author.text("name"),
        "creator_notes": author.text("backyardURL"),
    }
    lore = _lore(character)
    if lore:
        data["character_book"] = {"entries": lore, "extensions": {}}
    if pictures:
        data["assets"] = pictures
    kept: dict[str, Json] = {**manifest.rest(), "author": author.rest()}
    data["extensions"] = {
        "byaf": {
            "manifest": kept,
            "character": character.rest(),
            "scenarios": [_leftover(scenario, is_first=scenario is first) for scenario in scenarios],
        }
    }
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def _greetings(scenario: LooseObject) -> list[str]:
    # The format allows one first message to a scenario; files with more are read as they are meant.
    return [text for message in scenario.objects("firstMessages") if (text := to_macros(message.text("text")))]


def _examples(scenario: LooseObject) -> str:
    texts = [to_macros(message.text("text")) for message in scenario.objects("exampleMessages")]
    return "\n".join(f"<START>\n{text}" for text in texts if text)


def _lore(character: LooseObject) -> list[dict[str, Json]]:
    return [
        {
            "keys": [key.strip() for key in to_macros(item.text("key")).split(",") if key.strip()],
            "content": to_macros(item.text("value")),
            "extensions": {},
            "enabled": True,
            "insertion_order": index,
        }
        for index, item in enumerate(character.objects("loreItems"))
    ]


def _note_chats(scenarios: list[LooseObject], report: ReportBuilder) -> None:
    count = sum(bool(scenario.items("messages")) for scenario in scenarios)
    if count:
        chats = "a chat, which is" if count == 1 else f"{count} chats, which are"
        report.ignored(CHATS, f"the archive has {chats} no part of a card; import the same file as a chat")


def _leftover(scenario: LooseObject, *, is_first: bool) -> dict[str, Json]:
    """What the card has no field for; that is also the setting of a later scenario."""
    scenario.raw("messages")
    setting = () if is_first else ("narrative", "formattingInstructions", "exampleMessages", "firstMessages")
    return {**scenario.rest(), **{key: scenario.source[key] for key in ("title", *setting) if key in scenario.source}}


def to_macros(text: str) -> str:
    """A text with the placeholders of Backyard as the macros of cards."""

    def macro(match: re.Match[str]) -> str:
        word = (match.group(1) or match.group(2)).lower()
        return "{{user}}" if word == "user" else "{{char}}"

    return PLACEHOLDER.sub(macro, text)


def _portraits(archive: Archive, parts: ByafParts) -> dict[str, Json]:
    """The pictures of the character, by their place in the archive. The first one is the main icon."""
    found: dict[str, Json] = {}
    for image in parts.character.objects("images"):
        path = posixpath.normpath(posixpath.join(parts.folder, image.text("path")))
        if path in archive and path not in found:
            found[path] = _reference("icon", path, image.text("label") if found else "main")
    return found


def _backgrounds(archive: Archive, parts: ByafParts, report: ReportBuilder) -> dict[str, Json]:
    """The backgrounds of the scenarios, named after their scenario; the first one is the main background."""
    found: dict[str, Json] = {}
    for scenario in parts.scenarios:
        named = scenario.text("backgroundImage")
        if not named:
            continue
        # From the root of the archive, or from the folder of the scenario.
        places = (named, posixpath.join(posixpath.dirname(scenario.path), named))
        path = next((path for path in map(posixpath.normpath, places) if path in archive), None)
        if path is None:
            report.broken(f"{scenario.path}.backgroundImage", f"the archive has no file {named[:200]!r}")
        elif path not in found:
            found[path] = _reference("background", path, scenario.text("title") if found else "main")
    return found


def _reference(kind: str, path: str, name: str) -> Json:
    stem, ending = posixpath.splitext(posixpath.basename(path))
    return {"type": kind, "uri": f"embeded://{path}", "name": name or stem, "ext": ending.removeprefix(".").lower()}
