"""Messages and system prompts: reading, changing, cutting, adding."""

from __future__ import annotations

import math

from tavernkit.risuai.chat import RisuMessage
from tavernkit.risuai.triggers.conditions import is_in_chat
from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields, Operand
from tavernkit.risuai.triggers.places import place_in, sliced
from tavernkit.risuai.triggers.run import TriggerRun

pack = EffectPack()

_NONE = "null"


def _operand(fields: EffectFields, key: str) -> Operand:
    """The field as its version reads it: the older effects know values only."""
    return fields.operand(key) if fields.type.startswith("v2") else Operand(text=fields.optional_text(key))


@pack.effect("systemprompt", "v2SystemPrompt")
def add_system_prompt(fields: EffectFields) -> Action:
    location, value = fields.text("location"), _operand(fields, "value")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        prompts = run.shared.prompts
        if location in prompts:
            run.shared.budget.write(len(prompts[location]) + len(text))
            prompts[location] += f"{text}\n\n"

    return act


@pack.effect("impersonate", "v2Impersonate")
def impersonate(fields: EffectFields) -> Action:
    role, value = fields.text("role"), _operand(fields, "value")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        if role in ("user", "char"):
            run.shared.budget.write(len(text))
            run.messages.append(RisuMessage(role=role, data=text))

    return act


@pack.effect("cutchat", "v2CutChat")
def cut_chat(fields: EffectFields) -> Action:
    first, last = _operand(fields, "start"), _operand(fields, "end")
    is_whole_without_number = fields.type == "v2CutChat"

    def act(run: TriggerRun) -> None:
        start, end = run.number(first), run.number(last)
        if is_whole_without_number and math.isnan(end):
            end = math.inf
        run.messages = sliced(run.messages, start, end)

    return act


@pack.effect("modifychat", "v2ModifyChat")
def modify_chat(fields: EffectFields) -> Action:
    index, value = _operand(fields, "index"), _operand(fields, "value")

    def act(run: TriggerRun) -> None:
        place = place_in(run.messages, run.number(index))
        text = run.text(value)
        if place is not None:
            run.shared.budget.write(len(text))
            run.messages[place] = run.messages[place].with_(data=text)

    return act


@pack.effect("v2GetLastMessage")
def last_message(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, run.messages[-1].data if run.messages else _NONE)


@pack.effect("v2GetLastUserMessage")
def last_user_message(fields: EffectFields) -> Action:
    return _last_of("user", fields)


@pack.effect("v2GetLastCharMessage")
def last_character_message(fields: EffectFields) -> Action:
    return _last_of("char", fields)


def _last_of(role: str, fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        said = (message.data for message in reversed(run.messages) if message.role == role)
        run.put(output, next(said, _NONE))

    return act


@pack.effect("v2GetMessageAtIndex")
def message_at(fields: EffectFields) -> Action:
    index, output = fields.operand("index"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        place = place_in(run.messages, run.number(index))
        run.put(output, _NONE if place is None else run.messages[place].data)

    return act


@pack.effect("v2GetMessageCount")
def message_count(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, str(len(run.messages)))


@pack.effect("v2GetFirstMessage")
def first_message(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        index = run.scene.chat.greeting_index
        greetings = run.character.alternate_greetings
        if index == -1:
            run.put(output, run.character.first_message)
        else:
            run.put(output, greetings[index] if 0 <= index < len(greetings) else None)

    return act


@pack.effect("v2QuickSearchChat")
def search_chat(fields: EffectFields) -> Action:
    value, depth = fields.operand("value"), fields.operand("depth")
    how, output = fields.text("condition"), fields.optional_text("outputVar")

    def act(run: TriggerRun) -> None:
        wanted, messages = run.text(value), run.number(depth)
        is_found = not math.isnan(messages) and is_in_chat(run, wanted, how, messages)
        run.put(output, "1" if is_found else "0")

    return act


@pack.effect("v2GetAuthorNote")
def get_note(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, run.note)


@pack.effect("v2SetAuthorNote")
def set_note(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        note = run.text(value)
        run.shared.budget.write(len(note))
        run.note = run.scene.chat.note = note

    return act
