"""What is written about the character and the user."""

from __future__ import annotations

from tavernkit.risuai.triggers.effects.pack import EffectPack
from tavernkit.risuai.triggers.run import TriggerRun

pack = EffectPack()


@pack.answer("v2GetCharacterDesc")
def get_description(run: TriggerRun) -> str:
    return run.character.description


@pack.action("v2SetCharacterDesc", reads=("value",))
def set_description(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.change_character(run.character.with_(description=text))


@pack.answer("v2GetReplaceGlobalNote")
def get_global_note(run: TriggerRun) -> str:
    return run.character.replace_global_note


@pack.action("v2SetReplaceGlobalNote", reads=("value",))
def set_global_note(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.change_character(run.character.with_(replace_global_note=text))


@pack.answer("v2GetPersonaDesc")
def get_persona(run: TriggerRun) -> str:
    return run.scene.persona


@pack.action("v2SetPersonaDesc", reads=("value",))
def set_persona(run: TriggerRun, text: str) -> None:
    run.shared.budget.write(len(text))
    run.scene.persona = text
