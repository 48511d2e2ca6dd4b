"""What is written about the character and the user."""

from __future__ import annotations

from tavernkit.risuai.triggers.effects.pack import Action, EffectPack
from tavernkit.risuai.triggers.operand import EffectFields
from tavernkit.risuai.triggers.run import TriggerRun

pack = EffectPack()


@pack.effect("v2GetCharacterDesc")
def get_description(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, run.character.description)


@pack.effect("v2SetCharacterDesc")
def set_description(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        run.shared.budget.write(len(text))
        run.change_character(run.character.with_(description=text))

    return act


@pack.effect("v2GetReplaceGlobalNote")
def get_global_note(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, run.character.replace_global_note)


@pack.effect("v2SetReplaceGlobalNote")
def set_global_note(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        run.shared.budget.write(len(text))
        run.change_character(run.character.with_(replace_global_note=text))

    return act


@pack.effect("v2GetPersonaDesc")
def get_persona(fields: EffectFields) -> Action:
    output = fields.optional_text("outputVar")
    return lambda run: run.put(output, run.scene.persona)


@pack.effect("v2SetPersonaDesc")
def set_persona(fields: EffectFields) -> Action:
    value = fields.operand("value")

    def act(run: TriggerRun) -> None:
        text = run.text(value)
        run.shared.budget.write(len(text))
        run.scene.persona = text

    return act
