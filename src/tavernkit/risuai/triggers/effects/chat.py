"""Messages, system prompts, notes, and what is written about the character and the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tavernkit.risuai.arrays import place_in, sliced
from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.triggers.conditions import is_in_chat
from tavernkit.risuai.triggers.effects.pack import EffectPack
from tavernkit.risuai.triggers.run import TriggerRun
from tavernkit.text.js_numbers import to_number

pack = EffectPack()

_NONE = "null"
_GETTERS: Mapping[str, Callable[[TriggerRun], str]] = {
    "v2GetLastMessage": lambda run: run.messages[-1].data if run.messages else _NONE,
    "v2GetMessageCount": lambda run: str(len(run.messages)),
    "v2GetAuthorNote": lambda run: run.note,
    "v2GetCharacterDesc": lambda run: run.character.description,
    "v2GetReplaceGlobalNote": lambda run: run.character.replace_global_note,
    "v2GetPersonaDesc": lambda run: run.scene.persona,
}
for _type, _getter in _GETTERS.items():
    pack.answer(_type)(_getter)


@pack.action("systemprompt", "v2SystemPrompt", reads=("value",), fixed=("location",))
def add_system_prompt(run: TriggerRun, text: str, location: str) -> None:
    prompts = run.shared.prompts
    if location in prompts:
        run.shared.budget.write(len(prompts[location]) + len(text))
        prompts[location] += f"{text}\n\n"


@pack.action("impersonate", "v2Impersonate", reads=("value",), fixed=("role",))
def impersonate(run: TriggerRun, text: str, role: str) -> None:
    if role in ("user", "char"):
        run.shared.budget.write(len(text))
        run.messages.append(RisuMessage(role=role, data=text))


@pack.action("cutchat", "v2CutChat", reads=("start", "end"), fixed=("type",))
def cut_chat(run: TriggerRun, start: str, end: str, type: str) -> None:
    last = to_number(end)
    is_open = type == "v2CutChat" and math.isnan(last)
    run.messages = sliced(run.messages, to_number(start), math.inf if is_open else last)


@pack.action("modifychat", "v2ModifyChat", reads=("index", "value"))
def modify_chat(run: TriggerRun, index: str, text: str) -> None:
    place = place_in(run.messages, to_number(index))
    if place is not None:
        run.shared.budget.write(len(text))
        run.messages[place] = run.messages[place].with_(data=text)


@pack.answer("v2GetLastUserMessage", "v2GetLastCharMessage", fixed=("type",))
def last_message_of(run: TriggerRun, type: str) -> str:
    role = "user" if type == "v2GetLastUserMessage" else "char"
    return next((message.data for message in reversed(run.messages) if message.role == role), _NONE)


@pack.answer("v2GetMessageAtIndex", reads=("index",))
def message_at(run: TriggerRun, index: str) -> str:
    place = place_in(run.messages, to_number(index))
    return _NONE if place is None else run.messages[place].data


@pack.answer("v2GetFirstMessage")
def first_message(run: TriggerRun) -> str | None:
    index = run.scene.chat.greeting_index
    greetings = run.character.alternate_greetings
    if index == -1:
        return run.character.first_message
    return greetings[index] if 0 <= index < len(greetings) else None


@pack.answer("v2QuickSearchChat", reads=("value", "depth"), fixed=("condition",))
def search_chat(run: TriggerRun, wanted: str, depth: str, how: str) -> str:
    messages = to_number(depth)
    is_found = not math.isnan(messages) and is_in_chat(run, wanted, how, messages)
    return "1" if is_found else "0"


@pack.action("v2SetAuthorNote", reads=("value",))
def set_note(run: TriggerRun, note: str) -> None:
    run.shared.budget.write(len(note))
    run.note = run.scene.chat.note = note


@pack.action("v2SetCharacterDesc", reads=("value",))
def set_description(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.change_character(run.character.with_(description=text))


@pack.action("v2SetReplaceGlobalNote", reads=("value",))
def set_global_note(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.change_character(run.character.with_(replace_global_note=text))


@pack.action("v2SetPersonaDesc", reads=("value",))
def set_persona(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.scene.persona = text
