"""World Info files."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.migration.generator.manifest import READ, FolderWriter
from tests.migration.generator.texts import sentence

# The last two differ only in case.
NAMED = ("Harbour", "Linked", "Persona book", "Extra", "Chat book", "Everywhere", "Lore", "lore")


def write_worlds(folder: FolderWriter, count: int) -> tuple[str, ...]:
    """The stems of at least so many books."""
    random = folder.random
    for stem in NAMED:
        folder.add_json(f"worlds/{stem}.json", world(random), "world")
    unusual: dict[str, Any] = {
        "Named": {"name": "Another name", "extensions": {"vendor/x": [1, None]}, **world(random)},
        "Imported": {**world(random), "originalData": {"name": "From a card", "entries": []}},
        "Filtered": {"entries": {"0": entry(random, 0, characterFilter=_FILTER)}},
        "Empty": {"entries": {}},
        "Nameless fields": {"entries": {"7": {"uid": 7, "key": ["x"], "content": sentence(random)}}},
        "Prototype": {"__proto__": {"polluted": True}, **world(random)},
    }
    for stem, value in unusual.items():
        folder.add_json(f"worlds/{stem}.json", value, "world", READ)
    stems = [*NAMED, *unusual]
    for number in range(len(stems), count):
        stems.append(f"World {number}")
        folder.add_json(f"worlds/World {number}.json", world(random), "world")
    return tuple(stems)


_FILTER = {"isExclude": False, "names": ["Anna", "Nobody here"], "tags": ["tag-1"]}


def world(random: Random) -> dict[str, Any]:
    return {"entries": {str(uid): entry(random, uid) for uid in range(random.randint(1, 5))}}


def entry(random: Random, uid: int, **fields: Any) -> dict[str, Any]:
    keys = {"key": [f"key {random.randrange(1000)}", "/fox(es)?/i"], "keysecondary": ["night"] if uid % 2 else []}
    texts = {"comment": f"Entry {uid}", "content": sentence(random), "group": "", "automationId": ""}
    numbers = {"order": random.randrange(200), "position": uid % 5, "probability": random.randint(1, 100), "depth": 4}
    timers = {"sticky": 2 if uid == 1 else 0, "cooldown": 0, "delay": 0, "groupWeight": 100, "displayIndex": uid}
    yes = dict.fromkeys(("selective", "addMemo", "useProbability"), True)
    no = dict.fromkeys(("vectorized", "excludeRecursion", "preventRecursion", "groupOverride"), False)
    unset = dict.fromkeys(("scanDepth", "caseSensitive", "matchWholeWords", "useGroupScoring", "role"))
    switches = {"selectiveLogic": uid % 4, "constant": uid == 0, "disable": uid == 3}
    return {"uid": uid, **keys, **texts, **numbers, **timers, **yes, **no, **unset, **switches, **fields}
