"""Replaying what RisuAI read from and wrote to files."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable, Mapping

from tavernkit.characters.limits import DEFAULT_LIMITS
from tavernkit.characters.png_chunks import put_texts, walk_chunks
from tavernkit.conformance.vectors import Case, Outcome, loose, replay_of
from tavernkit.errors import InvalidCardError, ParseError, TavernKitError
from tavernkit.risuai.book_import import import_external
from tavernkit.risuai.cards import export_card, import_card
from tavernkit.risuai.chance import pick_hash_rand
from tavernkit.risuai.character import read_character, write_character
from tavernkit.risuai.chat_ml import parse_chat_ml
from tavernkit.risuai.default_variables import parse_key_values
from tavernkit.risuai.files.character_file import load_character, save_charx
from tavernkit.risuai.files.risum import read_risum, write_risum
from tavernkit.risuai.files.rpack import decode_rpack, encode_rpack
from tavernkit.risuai.module import read_module, write_module
from tavernkit.risuai.toggles import Toggle, parse_toggles
from tavernkit.values import Json

NOW = 1741529225
NEW_CHARACTER: Case = {"name": "Marlow Quill", "chaId": "cha-7781"}
# The fields of an imported character that every recording has where RisuAI does.
RECORDED = (
    *("name", "nickname", "firstMessage", "desc", "personality", "scenario", "exampleMessage", "systemPrompt"),
    *("postHistoryInstructions", "replaceGlobalNote", "alternateGreetings", "tags", "creator", "characterVersion"),
    *("creatorNotes", "globalLore", "loreSettings", "loreExt", "customscript", "triggerscript", "utilityBot"),
    *("defaultVariables", "additionalData", "additionalText", "bias", "viewScreen", "backgroundHTML"),
    *("lowLevelAccess", "extentions", "group_only_greetings", "source", "firstMsgIndex"),
)


def check(case: Case) -> Outcome:
    """Replay one case of the group `formats`."""
    inputs, replay = replay_of(KINDS, case.get("kind"))
    recorded = {key: value for key, value in case.items() if key not in ("id", "group", "kind", *inputs)}
    try:
        ours = replay(case)
    except TavernKitError:
        if "error" not in case:
            raise
        return True, True
    return recorded, {key: value for key, value in ours.items() if key in recorded}


def _rpack(case: Case) -> Case:
    data = _bytes(case["input_b64"])
    packed = encode_rpack(data)
    return {"encoded_b64": _base64(packed), "roundtrip_ok": decode_rpack(packed) == data}


def _risum(case: Case) -> Case:
    written = write_risum(read_module(loose(case["module"])))
    return {"file_b64": _base64(write_risum(read_risum(written).module))}


def _png_write(case: Case) -> Case:
    texts = {name: text.encode() for name, text in case["chunks"].items()}
    written = put_texts(_bytes(case["png_b64"]), texts, drop=lambda chunk: chunk.type == b"tEXt")
    return {"file_b64": _base64(written)}


def _png_read(case: Case) -> Case:
    chunks = walk_chunks(memoryview(_bytes(case["file_b64"])), limit=DEFAULT_LIMITS.png_chunks)
    texts = {chunk.keyword: bytes(chunk.data).partition(b"\0")[2].decode() for chunk in chunks if chunk.type == b"tEXt"}
    return {"chunks": {name: texts[name] for name in case["keys"] if name in texts}}


def _export(case: Case) -> Case:
    return {"card": export_card(read_character(loose({**NEW_CHARACTER, **case["char"]})), modified=NOW)}


def _risum_import(case: Case) -> Case:
    """A module is given a new id when it is imported."""
    return {"module": {**write_module(read_risum(_bytes(case["file_b64"])).module), "id": "<uuid>"}}


def _charx(case: Case) -> Case:
    """What is in our file, packed as theirs: how far each packer compresses is its own affair."""
    recorded = _unpacked(_bytes(case["file_b64"]))
    character = read_character(loose({**NEW_CHARACTER, **case["char"]}))
    module_id = read_risum(recorded["module.risum"]).module.id
    modified = json.loads(recorded["card.json"])["data"]["modification_date"]
    ours = save_charx(character, modified=modified, module_id=module_id)
    same = _contents(_unpacked(ours)) == _contents(recorded)
    return {"file_b64": case["file_b64"] if same else _base64(ours)}


def _unpacked(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return {name: files.read(name) for name in files.namelist()}


def _contents(files: Mapping[str, bytes]) -> Case:
    return {**files, "card.json": json.loads(files["card.json"])}


def _import(case: Case) -> Case:
    """A card that RisuAI does not import leaves nothing behind."""
    card, recorded = case["card"], _object(case.get("char"))
    try:
        if "spec" in _object(card):
            imported = import_card(card)
            return {"char": {key: value for key, value in imported.items() if key in RECORDED or key in recorded}}
        # A card of version 1 is read by the reader of card files; nothing else imports those.
        imported = write_character(load_character(json.dumps(card).encode())[0])
    except (InvalidCardError, ParseError):
        return {"char": None}
    return {"char": {key: imported[key] for key in recorded if key in imported}}


def _chat_ml(case: Case) -> Case:
    messages = parse_chat_ml(case["input"])
    if messages is None:
        return {"output": None}
    return {"output": [{"role": m.role, "content": m.content, "thoughts": list(m.thoughts)} for m in messages]}


def _key_values(case: Case) -> Case:
    return {"output": [list(pair) for pair in parse_key_values(case["input"])]}


def _toggles(case: Case) -> Case:
    return {"output": [_toggle(toggle) for toggle in parse_toggles(case["input"])]}


def _toggle(toggle: Toggle) -> Case:
    """The toggle as RisuAI itself keeps it."""
    fields: Case = {"key": toggle.key, "value": toggle.label}
    match toggle.type:
        case "switch":
            return {**fields, "options": list(toggle.options)}
        case "select" | "text":
            return {**fields, "type": toggle.type, "options": list(toggle.options)}
        case _:
            return {**fields, "type": toggle.type, "children": []}


IMPORTS = (
    *("import_bad", "import_lore_disabled", "import_lore_ext", "import_lore_logic", "import_lore_regex"),
    *("import_v1", "import_v2", "import_v2_ext", "import_v3"),
)
KINDS: Mapping[str, tuple[tuple[str, ...], Callable[[Case], Case]]] = {
    "card_v3_export": (("char",), _export),
    "charx_export": (("char",), _charx),
    "chatml": (("input",), _chat_ml),
    "external_lore": (("entries",), lambda case: {"lore": import_external(case["entries"])}),
    **dict.fromkeys(IMPORTS, (("card",), _import)),
    "parse_key_value": (("input",), _key_values),
    "parse_toggle": (("input",), _toggles),
    "pick_hash_rand": (("cid", "word"), lambda case: {"output": pick_hash_rand(case["cid"], case["word"])}),
    "png_read": (("file_b64", "keys"), _png_read),
    "png_write": (("png_b64", "chunks"), _png_write),
    "risum_export": (("module",), _risum),
    "risum_import": (("file_b64",), _risum_import),
    "rpack": (("input_b64",), _rpack),
    "rpack_table": (("input_b64",), _rpack),
}
"""For each kind of case: which of its fields were given, and how the others come about."""


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _object(value: Json) -> Case:
    return value if isinstance(value, Mapping) else {}
