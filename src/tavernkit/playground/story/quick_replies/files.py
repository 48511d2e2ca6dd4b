"""The files of quick replies: SillyTavern's format, and the one before it, which becomes the newer one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.storable import storable, titled
from tavernkit.playground.story.quick_replies.documents import MAX_BUTTONS, MAX_MESSAGE, ButtonFields, SetFields, key_of
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.values import Json, JsonObject

MAX_FILE_BYTES = 8 * 1024 * 1024

_OLD_SET = {
    "disableSend": "quickActionEnabled",
    "placeBeforeInput": "placeBeforeInputEnabled",
    "injectInput": "AutoInputInject",
}
_OLD_TEXTS = {"label": "label", "title": "title", "message": "mes", "automationId": "automationId"}
_OLD_FLAGS = {
    "preventAutoExecute": "preventAutoExecute",
    "isHidden": "hidden",
    "executeOnStartup": "autoExecute_appStartup",
    "executeOnUser": "autoExecute_userMessage",
    "executeOnAi": "autoExecute_botMessage",
    "executeOnChatChange": "autoExecute_chatLoad",
}
"""What the fields were called before."""


def read_set(data: bytes, *, name: str) -> tuple[dict[str, Any], dict[str, Any], ImportReport] | None:
    """A set as it is written now, the file where that was in the older format, and a report; `name` is that of the
    file. None for what is no set. Raises ParseError when it is no JSON."""
    report = ReportBuilder()
    document = parse_json(data, what="The file of quick replies")
    if not isinstance(document, dict):
        return None
    source = LooseObject(document, report)
    if isinstance(document.get("qrList"), list):
        return _checked(dict(document), source, name), {}, report.build("quick_replies")
    if isinstance(document.get("quickReplySlots"), list):
        written = _checked(_from_slots(source), source, name)
        return written, dict(document), report.build("quick_replies_v1")
    return None


def new_set(fields: SetFields) -> dict[str, Any]:
    """A set without buttons."""
    return {"version": 2, **written(fields), "qrList": [], "idIndex": 1}


def written(fields: SetFields | ButtonFields, *, only: frozenset[str] | None = None) -> dict[str, Any]:
    """Fields as files have them; `only` those."""
    values = fields.model_dump(include=None if only is None else set(only))
    if "context_list" in values:
        values["context_list"] = [
            {"set": storable(item["set"]), "isChained": item["is_chained"]} for item in values["context_list"]
        ]
    return {key_of(name): storable(value) if isinstance(value, str) else value for name, value in values.items()}


def next_id(data: Mapping[str, Any]) -> int:
    """The number of the next button, which no button of the set has had."""
    counted = data.get("idIndex")
    used = [button["id"] for button in data["qrList"]]
    return max(counted if type(counted) is int and 0 < counted < 2**31 else 1, max(used, default=0) + 1)


def _checked(data: dict[str, Any], source: LooseObject, name: str) -> dict[str, Any]:
    """The set with buttons that can be told apart, and no more than there may be."""
    listed = [button for button in data["qrList"] if isinstance(button, dict)]
    if len(listed) < len(data["qrList"]):
        source.report.ignored("qrList", _("{count} items are no buttons", count=len(data["qrList"]) - len(listed)))
    if len(listed) > MAX_BUTTONS:
        source.report.ignored(
            "qrList", _("{count} buttons; only the first {limit} were read", count=len(listed), limit=MAX_BUTTONS)
        )
    buttons: list[dict[str, Any]] = []
    used: set[int] = set()
    for place, button in enumerate(listed[:MAX_BUTTONS]):
        number = button.get("id")
        if type(number) is not int or not 0 <= number < 2**31 or number in used:
            number = max(used, default=0) + 1
            source.report.converted(f"qrList.{place}.id", _("the button has the number {number} now", number=number))
        used.add(number)
        message = button.get("message")
        if isinstance(message, str) and len(message) > MAX_MESSAGE:
            button = {**button, "message": message[:MAX_MESSAGE]}
            source.report.ignored(
                f"qrList.{place}.message", _("the message was cut after {limit} characters", limit=MAX_MESSAGE)
            )
        buttons.append(button if button.get("id") == number else {**button, "id": number})
    own = data.get("name")
    called = titled(own if isinstance(own, str) else "", titled(name, "Quick replies"))
    return {**data, "name": own if isinstance(own, str) and titled(own, "") == called else called, "qrList": buttons}


def _from_slots(source: LooseObject) -> dict[str, Any]:
    report = source.report
    report.converted("quickReplySlots", _("the set was converted from SillyTavern's older format"))
    buttons = [_from_slot(number, slot) for number, slot in enumerate(source.objects("quickReplySlots"), start=1)]
    return {
        "version": 2,
        "name": source.text("name"),
        **{key: source.flag(old) for key, old in _OLD_SET.items()},
        "color": "rgba(0, 0, 0, 0)",
        "onlyBorderColor": False,
        "qrList": buttons,
        "idIndex": len(buttons) + 1,
    }


def _from_slot(number: int, slot: LooseObject) -> dict[str, Json]:
    menu: list[Json] = [
        {"set": item.text("preset"), "isChained": item.flag("chain")} for item in slot.objects("contextMenu")
    ]
    default: JsonObject = written(ButtonFields())
    return {
        "id": number,
        **default,
        **{key: slot.text(old) for key, old in _OLD_TEXTS.items()},
        **{key: slot.flag(old, default=bool(default[key])) for key, old in _OLD_FLAGS.items()},
        "contextList": menu,
    }
