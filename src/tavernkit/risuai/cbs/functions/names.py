"""Who takes part: the character, the user, and the element that was clicked."""

from __future__ import annotations

from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.registry import FunctionPack

NAMES = FunctionPack("names")


@NAMES.function("char", "bot")
def char(call: CBSCall) -> str:
    if call.options.consistent_names:
        return "botname"
    chosen = call.scene.character
    if chosen is not None and not chosen.is_group:
        return chosen.display_name
    if call.options.character_name:
        return call.options.character_name
    if chosen is None:
        raise LeftAsText
    return chosen.display_name


@NAMES.function("user")
def user(call: CBSCall) -> str:
    return "username" if call.options.consistent_names else call.scene.user_name


@NAMES.function("trigger_id")
def trigger_id(call: CBSCall) -> str:
    return "null" if call.scene.trigger_id is None else call.scene.trigger_id
