"""What is about to be shown or sent, which triggers of the modes display and request may read and change.

In any other run these effects end it.
"""

from __future__ import annotations

from tavernkit.risuai.arrays import place_in
from tavernkit.risuai.triggers import properties
from tavernkit.risuai.triggers.effects.pack import EffectPack
from tavernkit.risuai.triggers.run import Returned, ThrownError, TriggerRun
from tavernkit.text.js_numbers import number_to_string, to_number
from tavernkit.text.js_values import to_text
from tavernkit.values import Json

pack = EffectPack()

_ROLES = ("user", "assistant", "system")


def _state(run: TriggerRun) -> str:
    if run.display_data is None:
        raise Returned
    return run.display_data


def _has_state(run: TriggerRun) -> bool:
    _state(run)
    return True


@pack.answer("v2GetDisplayState")
def get_display(run: TriggerRun) -> str:
    return _state(run)


@pack.action("v2SetDisplayState", reads=("value",), guard=_has_state)
def set_display(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.display_data = text


@pack.answer("v2GetRequestState", "v2GetRequestStateRole", reads=("index",), fixed=("type",), guard=_has_state)
def get_request(run: TriggerRun, index: str, type: str) -> Json:
    request = run.json(_state(run))
    message = None if request is None else properties.get(request, number_to_string(to_number(index)))
    found = None if message is None else properties.get(message, "role" if type.endswith("Role") else "content")
    return "null" if found is None else found


@pack.action("v2SetRequestState", reads=("index", "value"), guard=_has_state)
def set_request(run: TriggerRun, index: str, text: str) -> None:
    _write(run, index, "content", text)


@pack.action("v2SetRequestStateRole", reads=("index", "value"), guard=_has_state)
def set_role(run: TriggerRun, index: str, role: str) -> None:
    _write(run, index, "role", role if role in _ROLES else None)


def _write(run: TriggerRun, index: str, key: str, text: str | None) -> None:
    request = run.json(_state(run))
    if text is not None:
        _message(request, to_number(index))[key] = text
    written = run.to_json(request)
    run.shared.budget.write(len(written))
    run.display_data = written


def _message(request: Json, number: float) -> dict[str, Json]:
    """The message at this place, to be changed."""
    if isinstance(request, list):
        place = place_in(request, number)
        if place is not None and isinstance(request[place], dict):
            message: dict[str, Json] = request[place]
            return message
    raise ThrownError(f"The request has no message at {number_to_string(number)}.")


@pack.answer("v2GetRequestStateLength", guard=_has_state)
def request_length(run: TriggerRun) -> str:
    length = properties.get(run.json(_state(run)), "length")
    if length is None:
        raise ThrownError("The request is not a list.")
    return to_text(length)
