"""Who takes part: names, and the texts, lore and assets of the character and of the modules that are switched on."""

from __future__ import annotations

from tavernkit.risuai.arrays import write_array
from tavernkit.risuai.cbs.call import CBSCall, LeftAsText
from tavernkit.risuai.cbs.functions.arguments import character, flag
from tavernkit.risuai.cbs.registry import FunctionPack
from tavernkit.risuai.lore_entry import write_lore_entry
from tavernkit.text.js_json import to_json

CHARACTER = FunctionPack(
    "character",
    {
        "user": lambda call: "username" if call.options.consistent_names else call.scene.user_name,
        "trigger_id": lambda call: "null" if call.scene.trigger_id is None else call.scene.trigger_id,
        "personality charpersona": lambda call: _told(call, character(call).personality),
        "description chardesc": lambda call: _told(call, character(call).description),
        "scenario": lambda call: _told(call, character(call).scenario),
        "exampledialogue examplemessage": lambda call: _told(call, character(call).example_message),
        "moduleenabled": lambda call: flag(any(module.namespace == call.get(0) for module in call.scene.modules)),
    },
)


def _told(call: CBSCall, text: str) -> str:
    """A text of the character, with its macros; a group has none."""
    return "" if character(call).is_group else call.parse(text)


@CHARACTER.function("char", "bot")
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


@CHARACTER.function("lorebook", "worldinfo")
def lorebook(call: CBSCall) -> str:
    lore = call.scene.lore()
    chosen = character(call)
    own = len(chosen.lore) if chosen.is_group else 0  # a group's own lore is not listed
    return write_array(to_json(write_lore_entry(entry)) for entry in lore[own:])


@CHARACTER.function("emotionlist")
def emotion_list(call: CBSCall) -> str:
    chosen = call.scene.character
    if chosen is None:
        return ""
    if chosen.written.get("emotionImages", ()) is None:  # RisuAI makes no array of null
        raise LeftAsText
    return write_array(emotion.name for emotion in chosen.emotions)


@CHARACTER.function("assetlist")
def asset_list(call: CBSCall) -> str:
    chosen = call.scene.character
    if chosen is None or chosen.is_group:
        return ""
    if chosen.written.get("additionalAssets", ()) is None:
        raise LeftAsText
    return write_array(asset.name for asset in chosen.assets)


@CHARACTER.function("chardisplayasset")
def displayed_assets(call: CBSCall) -> str:
    chosen = character(call)
    if not chosen.lists_assets:
        return "[]"
    return write_array(asset.name for asset in chosen.assets if asset.path not in chosen.unlisted_assets)


@CHARACTER.function("moduleassetlist")
def module_asset_list(call: CBSCall) -> str:
    namespace = call.get(0)
    module = next((module for module in call.scene.modules if module.namespace == namespace), None)
    if module is None:
        return ""
    if not module.assets and module.written.get("assets") is None:  # a module need not have the list
        raise LeftAsText
    return write_array(asset.name for asset in module.assets)
