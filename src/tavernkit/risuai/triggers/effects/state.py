"""What is about to be shown or sent, which triggers of the modes display and request may read and change.

In any other run these effects end it.
"""

from __future__ import annotations

from collections.abc import Callable

from tavernkit.risuai.triggers import properties
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.places import place_in
from tavernkit.risuai.triggers.run import Returned, ThrownError, TriggerRun
from tavernkit.text.js_json import to_json
from tavernkit.text.js_numbers import number_to_string
from tavernkit.text.js_values import to_text
from tavernkit.values import Json

pack = EffectPack()

_ROLES = ("user", "assistant", "system")


def _state(run: TriggerRun) -> str:
    if run.display_data is None:
        raise Returned
    return run.display_data


@pack.effect("v2GetDisplayState")
def get_display(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        state = _state(run)
        run.put(output, state)

    return act


@pack.effect("v2SetDisplayState")
def set_display(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        _state(run)
        text = run.text(value)
        run.shared.budget.write(len(text))
        run.display_data = text

    return act


@pack.effect("v2GetRequestState")
def get_request(fields: EffectFields) -> Action:
    return _reading(fields, "content")


@pack.effect("v2GetRequestStateRole")
def get_role(fields: EffectFields) -> Action:
    return _reading(fields, "role")


def _reading(fields: EffectFields, key: str) -> Action:
    index, output = fields.operand("index"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        request = run.json(_state(run))
        place = number_to_string(run.number(index))
        message = None if request is None else properties.get(request, place)
        found = None if message is None else properties.get(message, key)
        run.put(output, "null" if found is None else found)

    return act


@pack.effect("v2SetRequestState")
def set_request(fields: EffectFields) -> Action:
    return _writing(fields, "content", lambda _: True)


@pack.effect("v2SetRequestStateRole")
def set_role(fields: EffectFields) -> Action:
    return _writing(fields, "role", lambda role: role in _ROLES)


def _writing(fields: EffectFields, key: str, is_allowed: Callable[[str], bool]) -> Action:
    index, value = fields.operand("index"), fields.operand("value")

    def act(run: TriggerRun) -> None:
        request = run.json(_state(run))
        number = run.number(index)
        text = run.text(value)
        if is_allowed(text):
            _message(request, number)[key] = text
        written = to_json(request)
        run.shared.budget.step(len(written))
        run.shared.budget.write(len(written))
        run.display_data = written

    return act


def _message(request: Json, number: float) -> dict[str, Json]:
    """The message at this place, to be changed."""
    if isinstance(request, list):
        place = place_in(request, number)
        if place is not None and isinstance(request[place], dict):
            message: dict[str, Json] = request[place]
            return message
    raise ThrownError(f"The request has no message at {number_to_string(number)}.")


@pack.effect("v2GetRequestStateLength")
def request_length(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        length = properties.get(run.json(_state(run)), "length")
        if length is None:
            raise ThrownError("The request is no list.")
        run.put(output, to_text(length))

    return act
