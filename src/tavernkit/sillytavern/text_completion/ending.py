"""What stands behind the chat: a quiet instruction, the line that asks for the reply, the reply's first words."""

from __future__ import annotations

from tavernkit.sillytavern.extension_prompts import ExtensionRole
from tavernkit.sillytavern.text_completion.scene import TextPiece, TextScene
from tavernkit.sillytavern.text_completion.sequences import Sequences, instruct_line
from tavernkit.text.js_strings import JS_WHITESPACE


def ending(scene: TextScene, before: str) -> list[TextPiece]:
    """The pieces to append to a text; where they begin with a new line depends on how that text ends."""
    pieces: list[TextPiece] = []
    if scene.quiet_prompt:
        pieces.append(_quiet(scene))
        if not (scene.with_instruct or scene.quiet_to_loud):
            return pieces
    if scene.with_instruct:
        if not scene.is_continue:
            line, bias = instruct_line(scene)
            pieces.append(TextPiece(text=line, source="last_line", role=_role(scene)))
            pieces.append(TextPiece(text=bias, source="bias", role="assistant"))
    else:
        so_far = before + "".join(piece.text for piece in pieces)
        pieces.append(TextPiece(text=_name_line(scene, so_far), source="last_line", role=_role(scene)))
    return [piece for piece in pieces if piece.text]


def bias_behind(scene: TextScene, before: str) -> TextPiece | None:
    """The reply's first words behind a name, in a prompt without instruct sequences."""
    words = scene.bias.lstrip(JS_WHITESPACE)
    if scene.with_instruct or scene.is_impersonation or not words:
        return None
    has_space = bool(before) and before[-1] in JS_WHITESPACE
    return TextPiece(text=words if has_space else f" {words}", source="bias", role="assistant")


def _quiet(scene: TextScene) -> TextPiece:
    if scene.with_instruct:
        text = "".join(Sequences(scene).write(scene.quiet_prompt, scene.user_name, "system"))
    else:
        text = f"\n{scene.quiet_prompt}"
    return TextPiece(text=text, source="quiet_prompt")


def _name_line(scene: TextScene, before: str) -> str:
    new_line = "" if before.endswith("\n") else "\n"
    if scene.is_impersonation:
        return f"{new_line}{scene.user_name}:"
    if not _forces_name(scene):
        return ""
    if scene.is_continue:
        if scene.chat_length == 1:
            return ""
        if scene.last_is_user:
            return new_line
    return f"{new_line}{scene.character_name}:"


def _forces_name(scene: TextScene) -> bool:
    if scene.settings.always_force_name2:
        return True
    # Words that one message asks for need a name before them; the user's standing ones do not.
    return bool(scene.bias) and scene.bias != scene.expand(scene.settings.user_prompt_bias)


def _role(scene: TextScene) -> ExtensionRole:
    return "user" if scene.is_impersonation else "assistant"
