"""The chat of a text prompt: its messages, what is injected between them, and how each is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tavernkit.prompt.tracing import NAME
from tavernkit.sillytavern.extension_prompts import ROLES, ExtensionPrompt, ExtensionRole, in_key_order, joined_text
from tavernkit.sillytavern.text_completion.scene import TextPiece, TextScene, TextSpeakers
from tavernkit.sillytavern.text_completion.sequences import SequencePlace, Sequences
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.text.js_strings import JS_WHITESPACE
from tavernkit.values import Value

STORY_STRING = "__STORY_STRING__"
"""The key of a story string that stands in the chat, which decides its order among others at its depth."""


class Speech(Value, frozen=True, kw_only=True):
    """One message of the chat before it is written: somebody's words, or something injected between them."""

    source: str
    text: str
    name: str = ""
    is_user: bool = False
    is_narrator: bool = False
    force_name: bool = False

    @property
    def role(self) -> ExtensionRole:
        return _role(self)


class TextChat(Value, frozen=True, kw_only=True):
    """The speeches, newest first, and the places among them that get their share of the budget before all others.

    `last_user` is the place of the user's last one. `continued` is the message that is being continued, as it is
    written; it stands behind everything and is none of the speeches. A first message that is continued is one.
    Where there are older messages, the last of the speeches is not the first of the chat.
    """

    speeches: tuple[Speech, ...]
    reserved: tuple[int, ...]
    last_user: int | None
    continued: TextPiece | None = None
    has_older: bool = False

    def by_precedence(self, kept: str | None) -> Iterator[int]:
        """The places in the order in which the budget is given to them."""
        first = [place for place, speech in enumerate(self.speeches) if kept and speech.source == kept]
        first += [place for place in self.reserved if place < len(self.speeches)]
        yield from first
        known = frozenset(first)
        yield from (place for place in range(len(self.speeches)) if place not in known)

    def write(self, scene: TextScene, sequences: Sequences, place: int) -> str:
        """One speech as it stands in the prompt."""
        speech = self.speeches[place]
        if scene.is_continue and self.continued is None and place == 0:
            return _write_unfinished(scene, sequences, speech)
        where: SequencePlace = "between"
        if place == self.last_user:
            where = "last"
        elif place == len(self.speeches) - 1 and not self.has_older:
            where = "first"
        return _write(scene, sequences, speech, where)


def chat_lines(scene: TextScene, prompts: Iterable[ExtensionPrompt]) -> TextChat:
    """The chat with everything in it that the prompts, the settings and the card put there."""
    prompts = tuple(prompts)
    # What is put before the whole chat stands before the messages that are not here, too.
    has_older = scene.has_older and not any(
        prompt.position == "chat" and prompt.content and prompt.depth >= scene.chat_length for prompt in prompts
    )
    speeches, reserved = _inject(
        scene, [_speech(turn) for turn in reversed(scene.turns) if not turn.is_system], prompts
    )
    for lore in scene.frozen:
        # Newest first: what stands behind a message comes before it.
        known = {turn.source for turn in scene.turns if turn.index <= lore.entry.message}
        at = next((place for place, speech in enumerate(speeches) if speech.source in known), len(speeches))
        speeches.insert(at, Speech(source=lore.source, text=lore.content, is_narrator=True))
        reserved = [place + (place >= at) for place in reserved] + [at] * lore.is_activated
    if scene.post_history:
        last = Speech(source="post_history", text=scene.post_history, is_user=True)
        if scene.is_continue:
            # SillyTavern keeps the places it has noted before this shift, which matters only when the budget is tight.
            speeches.insert(1 if speeches else 0, last)
        else:
            speeches.insert(0, last)
            reserved = [place + 1 for place in reserved]
    last_user = next((place for place, speech in enumerate(speeches) if speech.is_user), None)
    if not scene.is_continue or len(speeches) < 2:
        return TextChat(speeches=tuple(speeches), reserved=tuple(reserved), last_user=last_user, has_older=has_older)
    continued = _piece(speeches[0], _write_unfinished(scene, Sequences(scene), speeches[0]))
    return TextChat(
        speeches=tuple(speeches[1:]),
        reserved=tuple(place - 1 for place in reserved if place > 0),
        last_user=None if last_user is None else last_user - 1,
        continued=continued,
        has_older=has_older,
    )


def alignment(scene: TextScene) -> TextPiece | None:
    """What the user is made to say first, where the template wants a chat to begin with the user."""
    message = scene.settings.instruct.user_alignment_message
    if not (scene.with_instruct and message):
        return None
    speech = Speech(source="alignment", text=scene.expand(message), name=scene.user_name, is_user=True)
    return _piece(speech, _write(scene, Sequences(scene), speech, "first"))


def least_line(speakers: TextSpeakers) -> Callable[[ChatTurn], str]:
    """How to find out what is sent of a turn at least, wherever in the chat it stands: its line, or the end of it."""
    sequences = Sequences(speakers, is_counting=True)
    if speakers.is_continue or not sequences.are_fixed:
        return lambda turn: turn.text
    if not speakers.with_instruct:
        plainly = speakers.with_(is_traced=False)
        return lambda turn: _write(plainly, sequences, _speech(turn), "between")

    def line(turn: ChatTurn) -> str:
        name, role = _name(speakers, turn), _role(turn)
        if sequences.are_alike:
            return "".join(sequences.write(str(turn.text), name, role, turn.force_avatar))
        _, label, suffix = sequences.around(name, role, turn.force_avatar)
        return f"{label}{turn.text}{suffix}"

    return line


def note_line(speakers: TextSpeakers) -> Callable[[str, str], str]:
    """How a message is written that somebody puts between those of the chat, by its role and its text."""
    sequences = Sequences(speakers)

    def line(role: str, text: str) -> str:
        return _write(speakers, sequences, _between(speakers, role, text, "note"), "between")

    return line


def _between(speakers: TextSpeakers, role: str, text: str, source: str) -> Speech:
    """What is put between the messages of the chat, in the name of whoever has that role."""
    names = {"user": speakers.user_name, "assistant": speakers.character_name}
    return Speech(
        source=source, text=text, name=names.get(role, ""), is_user=role == "user", is_narrator=role not in names
    )


def _speech(turn: ChatTurn) -> Speech:
    return Speech(
        source=turn.source,
        text=turn.text,
        name=turn.name,
        is_user=turn.is_user,
        is_narrator=turn.is_narrator,
        force_name=turn.force_avatar,
    )


def _inject(
    scene: TextScene, newest_first: list[Speech], prompts: Iterable[ExtensionPrompt]
) -> tuple[list[Speech], list[int]]:
    """At one depth the system stands nearest to the end, then the user, then the character."""
    at: dict[int, dict[ExtensionRole, list[ExtensionPrompt]]] = {}
    for prompt in in_key_order(prompts):
        if prompt.position == "chat" and prompt.depth >= 0 and prompt.content:
            at.setdefault(prompt.depth, {}).setdefault(prompt.role, []).append(prompt)
    speeches: list[Speech] = []
    reserved: list[int] = []
    taken = 0
    for depth, by_role in sorted(at.items()):
        # Nothing may come behind the message that is being continued.
        until = min(1 if scene.is_continue and depth == 0 else depth, len(newest_first))
        speeches.extend(newest_first[taken:until])
        taken = max(taken, until)
        for role in ROLES:
            found = by_role.get(role, [])
            if text := joined_text(found).lstrip(JS_WHITESPACE):
                reserved.append(len(speeches))
                keys = "+".join(prompt.key for prompt in found)
                source = "story_string" if keys == STORY_STRING else f"injection:{keys}"
                speeches.append(_between(scene, role, text, source))
    speeches.extend(newest_first[taken:])
    return speeches, reserved


def _piece(speech: Speech, text: str) -> TextPiece:
    return TextPiece(text=text, source=speech.source, role=speech.role)


def _write(speakers: TextSpeakers, sequences: Sequences, speech: Speech, place: SequencePlace) -> str:
    if speakers.with_instruct:
        return sequences.whole(speech.text, _name(speakers, speech), speech.role, speech.force_name, place)
    if speech.name and not speech.is_narrator:
        label = speakers.written(f"{speech.name}: ", NAME.what)
        return label + speech.text + speakers.written("\n", "line break")
    return speech.text + speakers.written("\n", "line break")


def _write_unfinished(speakers: TextSpeakers, sequences: Sequences, speech: Speech) -> str:
    """A message that ends where its text ends, for the model to go on with it."""
    if speakers.with_instruct:
        return sequences.write(speech.text, _name(speakers, speech), speech.role, speech.force_name, "last")[0]
    line = _write(speakers, sequences, speech, "between")
    return line[: line.rindex(speech.text) + len(speech.text)]


def _role(said: Speech | ChatTurn) -> ExtensionRole:
    if said.is_narrator:
        return "system"
    return "user" if said.is_user else "assistant"


def _name(speakers: TextSpeakers, said: Speech | ChatTurn) -> str:
    return said.name if said.is_user else said.name or speakers.character_name
