"""Regex scripts and quick replies."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.migration.generator.manifest import READ, FolderWriter
from tests.migration.generator.texts import hex_id, sentence


def regex_script(random: Random, name: str, *, disabled: bool = False) -> dict[str, Any]:
    where = {"placement": [1, 2], "markdownOnly": False, "promptOnly": True, "minDepth": None, "maxDepth": 4}
    how = {"trimStrings": [], "runOnEdit": True, "substituteRegex": 0, "disabled": disabled}
    find = {"findRegex": "/fox(es)?/gi", "replaceString": "vixen$1"}
    return {"id": hex_id(random), "scriptName": name, **find, **how, **where}


def write_quick_replies(folder: FolderWriter) -> None:
    for name, runs_alone in (("Default", False), ("Runs alone", True)):
        buttons = [_button(folder.random, number, runs_alone) for number in range(1, 4)]
        options = {"disableSend": False, "placeBeforeInput": False, "injectInput": False}
        value = {"version": 2, "name": name, **options, "color": "", "qrList": buttons, "idIndex": 4}
        folder.add_json(f"QuickReplies/{name}.json", value, "quick_replies")
    slots = [{"mes": "/sys hello", "label": "Hello", "enabled": True}]
    old = {"name": "Old", "quickReplyEnabled": True, "quickReplySlots": slots, "numberOfSlots": 1}
    folder.add_json("QuickReplies/Old.json", old, "quick_replies", READ)


def _button(random: Random, number: int, runs_alone: bool) -> dict[str, Any]:
    flags = ("executeOnStartup", "executeOnUser", "executeOnAi", "executeOnChatChange", "executeOnGroupMemberDraft")
    rest = {"title": "", "contextList": [], "preventAutoExecute": True, "isHidden": False, "automationId": ""}
    message = f"/echo {sentence(random, 4)}"
    return {"id": number, "label": f"Button {number}", "message": message, **rest, **dict.fromkeys(flags, runs_alone)}
