"""Example dialogues as they stand in a text prompt."""

from __future__ import annotations

from tavernkit.sillytavern.examples import spoken_lines
from tavernkit.sillytavern.text_completion.scene import TextScene
from tavernkit.sillytavern.text_completion.sequences import fill, separator


def example_texts(scene: TextScene) -> tuple[list[str], list[str]]:
    """The texts that are kept or left out one by one, and the dialogues as the story string's raw ones.

    Without instruct sequences a text is a whole dialogue under its heading; with them, a heading or one message.
    """
    heading_text = scene.settings.context.example_separator
    heading = f"{scene.expand(heading_text)}\n" if heading_text else ""
    plain = [f"{heading}{dialogue}\n" for dialogue in scene.dialogues]
    if not scene.with_instruct:
        return plain, plain
    raw = [f"<START>\n{dialogue}\n" for dialogue in scene.dialogues]
    if scene.settings.instruct.skip_examples:
        return plain, raw
    return _in_sequences(scene, heading) or plain, raw


def _in_sequences(scene: TextScene, heading: str) -> list[str]:
    instruct = scene.settings.instruct
    # Names are told in a group for all, elsewhere with "force" only for the user.
    in_group = scene.group is not None and instruct.names_behavior != "none"
    between = separator(scene)
    sequences = {
        True: _pair(scene, instruct.input_sequence, instruct.input_suffix, scene.user_name),
        False: _pair(scene, instruct.output_sequence, instruct.output_suffix, scene.character_name),
    }
    texts: list[str] = []
    for dialogue in scene.dialogues:
        lines = spoken_lines(
            dialogue, user_name=scene.user_name, character_name=scene.character_name, group=scene.group or ()
        )
        if lines and heading:
            texts.append(heading)
        for line in lines:
            prefix, suffix = sequences[line.is_user]
            name = line.name if in_group else (scene.user_name if line.is_user else scene.character_name)
            told = (
                in_group or instruct.names_behavior == "always" or (instruct.names_behavior == "force" and line.is_user)
            )
            message = (f"{name}: {line.text}" if told else line.text) + suffix
            texts.append(between.join(part for part in (prefix, message) if part))
    return texts


def _pair(scene: TextScene, prefix: str, suffix: str, name: str) -> tuple[str, str]:
    """Prefix and suffix; the newline in place of a missing suffix comes only where macros are expanded."""
    filled = fill(scene, suffix, name)
    if not filled and scene.settings.instruct.macro:
        filled = separator(scene)
    return fill(scene, prefix, name), filled
