"""Character cards as RisuAI takes them in and gives them out: which field of a card is which of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tavernkit.characters.character import Character
from tavernkit.characters.encode import write_data
from tavernkit.errors import InvalidCardError
from tavernkit.reading import LooseObject, ReportBuilder, kind_of
from tavernkit.risuai.book_import import import_entry, object_of, opened_entry, or_else
from tavernkit.risuai.character import RisuCharacter, read_character, write_character
from tavernkit.text.js_strings import js_trim
from tavernkit.text.js_values import is_truthy, to_text
from tavernkit.values import Json, JsonObject

V2, V3 = "chara_card_v2", "chara_card_v3"
INSIDE = re.compile(r"__asset:|embeded://")
# What RisuAI gives a new character; a card that it writes always has these.
BLANK: Mapping[str, Json] = {
    "bias": [],
    "viewScreen": "none",
    "customscript": [],
    "utilityBot": False,
    "sdData": [],
    "triggerscript": [],
    "additionalText": "",
}
# Fields of a card's data and what RisuAI calls them; one that is missing or null becomes an empty text.
TEXTS = {
    "name": "name",
    "first_mes": "firstMessage",
    "description": "desc",
    "mes_example": "exampleMessage",
    "creator_notes": "creatorNotes",
    "system_prompt": "systemPrompt",
    "post_history_instructions": "replaceGlobalNote",
    "creator": "creator",
    "personality": "personality",
    "scenario": "scenario",
}
# Fields of RisuAI's own part of a card (`extensions.risuai`), with what stands in where one is missing.
OWN: Mapping[str, Json] = {
    "bias": [],
    "viewScreen": "none",
    "utilityBot": False,
    "triggerscript": [],
    "private": False,
    "additionalText": "",
    "lorePlus": False,
    "inlayViewScreen": False,
    "lowLevelAccess": False,
    "defaultVariables": "",
    "prebuiltAssetCommand": "",
    "prebuiltAssetExclude": [],
    "prebuiltAssetStyle": "",
}
OWN_OPTIONAL = ("backgroundHTML", "license", "newGenData", "sdData")
PLACES = {
    "globalLore": "character_book.entries",
    "customscript": "extensions.risuai.customScripts",
    **{name: f"extensions.risuai.{name}" for name in (*OWN, *OWN_OPTIONAL)},
    **{name: spelt for spelt, name in TEXTS.items()},
}
EXPORTED_OPTIONAL = ("backgroundHTML", "license", "largePortrait", "lorePlus", "inlayViewScreen", "newGenData")


def from_card(
    character: Character,
    *,
    id: str = "",
    lore: Sequence[JsonObject] | None = None,
    report: ReportBuilder | None = None,
) -> RisuCharacter:
    """A character as RisuAI would import and open its card; `id` is what RisuAI makes up at that moment.

    Assets keep the URIs by which the card refers to them; `lore` takes the place of the card's entries. What is broken
    in RisuAI's own part of the card is noted in the report.
    """
    data = write_data(character, "v3")
    own = _own(data)
    assets = _older_assets(own, files=None) if character.assets is None else _assets(data, files=None)
    fields = {**_import_data(data, own, lore=lore), **assets, **_newer_fields(data), "chaId": id}
    fields["globalLore"] = [opened_entry(entry) for entry in _list(fields["globalLore"]) if isinstance(entry, Mapping)]
    notes = ReportBuilder()
    found = read_character(LooseObject(fields, notes))
    if report is not None:
        for note in notes.build("card").broken:
            report.add(_place_in_card(note.path), note.outcome, note.message, is_broken=True)
    return found


def import_card(card: JsonObject, *, files: Collection[str] = ()) -> dict[str, Json]:
    """What RisuAI stores for a card of version 2 or 3; raises InvalidCardError where RisuAI cannot import it.

    `files` are the URIs of the assets that came with the card, and stand for themselves.
    """
    data = card.get("data")
    if card.get("spec") not in (V2, V3) or not isinstance(data, Mapping):
        raise InvalidCardError("RisuAI imports cards of version 2 and 3, with a data object; this is neither.")
    own = _own(data)
    fields = _import_data(data, own, lore=None)
    if card["spec"] == V2:
        return {**fields, **_older_assets(own, files=files)}
    return {**fields, **_assets(data, files=files), **_newer_fields(data)}


def export_card(
    character: RisuCharacter, *, modified: int, has_picture: bool = True, has_module: bool = False
) -> dict[str, Json]:
    """The card of version 3 that RisuAI writes; `modified` is the time of writing, in seconds since 1970.

    A module beside the card takes the scripts and triggers.
    """
    source = {**BLANK, **write_character(character)}
    own: dict[str, Json] = {
        "bias": source["bias"],
        "viewScreen": source["viewScreen"],
        **({} if has_module else {"customScripts": source["customscript"]}),
        "utilityBot": source["utilityBot"],
        "sdData": source["sdData"],
        **({} if has_module else {"triggerscript": source["triggerscript"]}),
        "additionalText": source["additionalText"],
        "virtualscript": "",
        "vits": {},
        **{key: source[key] for key in EXPORTED_OPTIONAL if key in source},
        "lowLevelAccess": or_else(source.get("lowLevelAccess"), False),
        "defaultVariables": or_else(source.get("defaultVariables"), ""),
        "prebuiltAssetCommand": or_else(source.get("prebuiltAssetCommand"), ""),
        "prebuiltAssetExclude": or_else(source.get("prebuiltAssetExclude"), []),
        "prebuiltAssetStyle": or_else(source.get("prebuiltAssetStyle"), ""),
    }
    extensions: dict[str, Json] = {"risuai": own}
    if "depth_prompt" in source:
        extensions["depth_prompt"] = source["depth_prompt"]
    foreign = object_of(source.get("extentions"))
    extensions |= _without_own(foreign)
    more = object_of(source.get("additionalData"))
    data: dict[str, Json] = {
        **{spelt: or_else(source.get(name), "") for spelt, name in TEXTS.items()},
        "alternate_greetings": or_else(source.get("alternateGreetings"), []),
        "character_book": _export_book(source),
        "tags": or_else(source.get("tags"), []),
        "creator": or_else(more.get("creator"), ""),
        "character_version": _text_of(more, "character_version"),
        "extensions": extensions,
        "group_only_greetings": or_else(source.get("group_only_greetings"), []),
        "nickname": or_else(source.get("nickname"), ""),
        "source": or_else(source.get("source"), []),
        "creation_date": or_else(source.get("creation_date"), 0),
        "modification_date": modified,
        "assets": _export_assets(source, has_picture=has_picture),
    }
    return {"spec": V3, "spec_version": "3.0", "data": data}


def _import_data(data: JsonObject, own: JsonObject, *, lore: Sequence[JsonObject] | None) -> dict[str, Json]:
    book, extensions = data.get("character_book"), object_of(data.get("extensions"))
    fields: dict[str, Json] = {name: or_else(data.get(spelt), "") for spelt, name in TEXTS.items()}
    fields |= {name: or_else(own.get(name), default) for name, default in OWN.items()}
    fields |= {name: own[name] for name in OWN_OPTIONAL if name in own}
    fields |= {
        "largePortrait": or_else(own.get("largePortrait"), "risuai" not in extensions),
        "customscript": or_else(own.get("customScripts"), []),
        "alternateGreetings": or_else(data.get("alternate_greetings"), []),
        "tags": or_else(data.get("tags"), []),
        "postHistoryInstructions": "",
        "characterVersion": _text_of(data, "character_version"),
        "additionalData": {
            "tag": or_else(data.get("tags"), []),
            **{key: data[key] for key in ("creator", "character_version") if key in data},
        },
        "extentions": _without_own(extensions),
        "globalLore": list(lore or ()),
        "source": or_else(own.get("source"), []),
        "firstMsgIndex": -1,
    }
    if is_truthy(book):
        fields |= _import_book(object_of(book), replaced=lore is not None)
    return fields


def _place_in_card(path: str) -> str:
    """Where a field of a character stands in its card."""
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    return f"data.{PLACES.get(name, name)}{path[len(name) :]}"


def _own(data: JsonObject) -> JsonObject:
    """RisuAI's own part of a card."""
    extensions = data.get("extensions")
    if not isinstance(extensions, Mapping):
        raise InvalidCardError(
            f"The card cannot be imported: its extensions should be an object, not {kind_of(extensions)}."
        )
    return object_of(extensions.get("risuai"))


def _without_own(extensions: JsonObject) -> dict[str, Json]:
    """The extensions of others, without what a character has fields for."""
    return {key: value for key, value in extensions.items() if key not in ("risuai", "depth_prompt")}


def _import_book(book: JsonObject, *, replaced: bool) -> dict[str, Json]:
    entries = book.get("entries")
    if not isinstance(entries, list) or not all(isinstance(object_of(entry).get("keys"), list) for entry in entries):
        raise InvalidCardError("The card's lorebook cannot be imported: its entries should be a list, each with keys.")
    fields: dict[str, Json] = {}
    if not replaced:
        fields["globalLore"] = [import_entry(entry) for entry in entries]
    if "extensions" in book:
        fields["loreExt"] = book["extensions"]
    settings = {
        "tokenBudget": book.get("token_budget"),
        "scanDepth": book.get("scan_depth"),
        "recursiveScanning": book.get("recursive_scanning"),
    }
    if None not in settings.values():
        whole_words = object_of(book.get("extensions")).get("risu_fullWordMatching")
        fields["loreSettings"] = {**settings, "fullWordMatching": or_else(whole_words, False)}
    return fields


def _newer_fields(data: JsonObject) -> dict[str, Json]:
    """What only cards of version 3 have."""
    return {
        "group_only_greetings": or_else(data.get("group_only_greetings"), []),
        "nickname": or_else(data.get("nickname"), ""),
        "source": or_else(data.get("source"), _own(data).get("source"), []),
        "creation_date": or_else(data.get("creation_date"), 0),
        "modification_date": or_else(data.get("modification_date"), 0),
    }


def _assets(data: JsonObject, *, files: Collection[str] | None) -> dict[str, Json]:
    """The assets of a card of version 3; what RisuAI has no list of its own for is kept as the card has it."""
    emotions: list[Json] = []
    additional: list[Json] = []
    other: list[Json] = []
    for asset in map(object_of, _list(data.get("assets"))):
        uri = asset.get("uri")
        if not isinstance(uri, str):
            raise InvalidCardError("The card cannot be imported: one of its assets has no URI.")
        _check_inside(uri, files)
        if uri != "ccdefault:" and not uri.startswith(("__asset:", "embeded://", "data:")):
            continue
        kind, name, extension = asset.get("type"), asset.get("name") or "", or_else(asset.get("ext"), "unknown")
        if kind == "emotion":
            emotions.append([name, uri])
        elif kind == "x-risu-asset":
            additional.append([name, uri, extension])
        elif (kind, name) != ("icon", "main"):
            other.append({"type": or_else(kind, "asset"), "uri": uri, "name": name, "ext": extension})
    return {"emotionImages": emotions, "additionalAssets": additional, "ccAssets": other}


def _older_assets(own: JsonObject, *, files: Collection[str] | None) -> dict[str, Json]:
    """The assets of a card of version 2, where RisuAI keeps them in a part of its own."""
    emotions, additional = _rows(own.get("emotions")), _rows(own.get("additionalAssets"))
    listed = len(_list(own.get("emotions"))) + len(_list(own.get("additionalAssets")))
    if files is not None and len(emotions) + len(additional) < listed:
        raise InvalidCardError("The card cannot be imported: RisuAI's list of its assets is damaged.")
    return {
        "emotionImages": [[name, _older_uri(uri, files)] for name, uri, *_ in emotions],
        "additionalAssets": [[name, _older_uri(uri, files), *(rest[:1] or [""])] for name, uri, *rest in additional],
        "ccAssets": [],
    }


def _rows(rows: Json) -> list[list[str]]:
    """The rows that name an asset: a name, where it is kept, and its kind of file."""
    return [
        row
        for row in _list(rows)
        if isinstance(row, list) and len(row) > 1 and all(isinstance(part, str) for part in row)
    ]


def _older_uri(uri: str, files: Collection[str] | None) -> str:
    if uri.startswith("__asset:"):
        _check_inside(uri, files)
        return uri
    return f"data:application/octet-stream;base64,{uri}"


def _check_inside(uri: str, files: Collection[str] | None) -> None:
    if files is not None and INSIDE.match(uri) and uri not in files:
        raise InvalidCardError(f"The card cannot be imported: there is no asset {uri[:200]!r} beside it.")


def _export_book(source: JsonObject) -> dict[str, Json]:
    settings = object_of(source.get("loreSettings"))
    names = {"scan_depth": "scanDepth", "token_budget": "tokenBudget", "recursive_scanning": "recursiveScanning"}
    whole_words = or_else(settings.get("fullWordMatching"), False)
    return {
        **{spelt: settings[name] for spelt, name in names.items() if name in settings},
        "extensions": {**object_of(source.get("loreExt")), "risu_fullWordMatching": whole_words},
        "entries": [_export_entry(entry) for entry in _list(source.get("globalLore")) if isinstance(entry, Mapping)],
    }


def _export_entry(entry: JsonObject) -> dict[str, Json]:
    extensions = dict(object_of(entry.get("extentions")))
    for spelt, name in (("risu_activationPercent", "activationPercent"), ("risu_loreCache", "loreCache")):
        extensions.pop(spelt, None)
        extensions |= {spelt: entry[name]} if name in entry else {}
    named = {
        "content": "content",
        "insertion_order": "insertorder",
        "constant": "alwaysActive",
        "selective": "selective",
        "name": "comment",
        "comment": "comment",
    }
    return {
        "keys": _keys(entry.get("key")),
        **({"secondary_keys": _keys(entry.get("secondkey"))} if is_truthy(entry.get("selective")) else {}),
        "extensions": extensions,
        "enabled": True,
        **{spelt: entry[name] for spelt, name in named.items() if name in entry},
        "case_sensitive": or_else(extensions.get("risu_case_sensitive"), False),
        "use_regex": or_else(entry.get("useRegex"), False),
        "mode": or_else(entry.get("mode"), "normal"),
        **({"folder": entry["folder"]} if "folder" in entry else {}),
    }


def _keys(text: Json) -> list[str]:
    return [js_trim(key) for key in to_text(or_else(text, "")).split(",")]


def _export_assets(source: JsonObject, *, has_picture: bool) -> list[Json]:
    assets = _list(source.get("ccAssets"))
    for name, uri, *rest in _rows(source.get("additionalAssets")):
        assets.append({"type": "x-risu-asset", "uri": uri, "name": name, "ext": (rest[:1] or [""])[0] or "png"})
    for name, uri, *_ in _rows(source.get("emotionImages")):
        assets.append({"type": "emotion", "uri": uri, "name": name, "ext": "png"})
    if has_picture:  # what the card is drawn on
        assets.append({"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"})
    return assets


def _text_of(fields: JsonObject, key: str) -> str:
    """A field as JavaScript writes it into a text, where a missing one is a word too."""
    return to_text(fields[key]) if key in fields else "undefined"


def _list(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
