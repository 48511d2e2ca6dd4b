"""Puts a text prompt together within its budget: the story string, the examples, the chat and what stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tavernkit.prompt.parts import SEPARATOR, joined, rewritten
from tavernkit.sillytavern.examples import example_texts
from tavernkit.sillytavern.extension_prompts import ExtensionPrompt, extension_role, extension_text
from tavernkit.sillytavern.presets.templates import fill_name
from tavernkit.sillytavern.text_completion.chat_lines import STORY_STRING, TextChat, alignment, chat_lines
from tavernkit.sillytavern.text_completion.scene import LeftOut, TextPiece, TextPrompt, TextScene
from tavernkit.sillytavern.text_completion.sequences import Sequences, bias_behind, ending
from tavernkit.sillytavern.text_completion.story_template import render_story
from tavernkit.text.js_strings import js_trim
from tavernkit.text.replies import collapse_newlines
from tavernkit.values import Value

IN_CHAT = 1


def story_string(scene: TextScene, *, examples: Sequence[str], raw_examples: Sequence[str]) -> str:
    """The rendered template, in its sequences if it stands on top of an instruct prompt."""
    context, instruct = scene.settings.context, scene.settings.instruct
    values = {
        "description": scene.description,
        "personality": scene.personality,
        "persona": scene.persona,
        "scenario": scene.scenario,
        "system": scene.system_prompt,
        "char": scene.character_name,
        "user": scene.user_name,
        "wiBefore": scene.world_info_before,
        "wiAfter": scene.world_info_after,
        "loreBefore": scene.world_info_before,
        "loreAfter": scene.world_info_after,
        "anchorBefore": js_trim(extension_text(scene.extension_prompts, "before")),
        "anchorAfter": js_trim(extension_text(scene.extension_prompts, "after")),
        "mesExamples": joined("", examples),
        "mesExamplesRaw": joined("", raw_examples),
    }
    story = scene.expand(render_story(context.story_string, values, scene.expand)).lstrip("\n")
    if not story or context.story_string_position == IN_CHAT:
        return story
    ends_line = not scene.with_instruct or (instruct.wrap and not instruct.story_string_suffix)
    if ends_line and not story.endswith("\n"):
        story = story + scene.written("\n", SEPARATOR.what)
    if not scene.with_instruct:
        return story
    if instruct.story_string_prefix:
        prefix = fill_name(scene.expand(instruct.story_string_prefix), "System")
        story = prefix + scene.line_break + story
    return story + scene.expand(instruct.story_string_suffix)


def story_in_chat(scene: TextScene, story: str) -> ExtensionPrompt | None:
    """The story string as something to put into the chat, if that is its place."""
    context = scene.settings.context
    if context.story_string_position != IN_CHAT:
        return None
    return ExtensionPrompt(
        key=STORY_STRING,
        content=story,
        position="chat",
        depth=context.story_string_depth,
        role=extension_role(context.story_string_role),
    )


def assemble_text_prompt(
    scene: TextScene, with_turns: Callable[[TextScene, int], TextScene] | None = None
) -> TextPrompt:
    """The prompt that SillyTavern sends to a text-completion model.

    `with_turns` puts the chat into the scene, once it is known how many tokens are left for it; a continuation needs
    its chat before that.

    First comes what has to be there, then what is injected into the chat, then messages from the newest on, then
    examples from the first on; each of these ends with the first that does not fit. Raises
    InvalidContextTemplateError for a story string that cannot be rendered.
    """
    parts = _prepare(scene)
    tally = _Tally(scene)
    mandatory = tally.padded(parts.counted())
    if with_turns is not None:
        parts = parts.with_(chat=chat_lines(with_turns(scene, scene.budget - mandatory), parts.injected))
    chosen = _choose_lines(scene, parts, tally, mandatory)
    examples = _choose_examples(scene, parts, tally, chosen)
    if parts.chat.continued is not None:
        chosen, examples, end = _make_room(scene, parts, tally, chosen, examples)
    else:
        end = ending(scene, chosen.lines[-1].text) if chosen.lines else []
    if chosen.lines and (bias := bias_behind(scene, chosen.lines[-1].text + _joined(end))):
        end = [*end, bias]
    if parts.chat.continued is not None:
        end = [*end, parts.chat.continued]
    pieces = [
        *_head(parts, tally, examples),
        *_chat_pieces(parts.chat, chosen),
        *(piece.with_(tokens=tally.of(piece.text)) for piece in end),
    ]
    return TextPrompt(
        pieces=_cleaned(pieces, collapse=scene.settings.collapse_newlines),
        budget=scene.budget,
        mandatory_tokens=mandatory + _kept_tokens(scene, chosen),
    )


class _Tally:
    """Counts tokens as they are counted for the budget, and no text twice."""

    def __init__(self, scene: TextScene) -> None:
        self._scene = scene
        self._known: dict[str, int] = {"": 0}

    def of(self, text: str) -> int:
        text = text.replace("\r", "")
        tokens = self._known.get(text)
        if tokens is None:
            tokens = self._known[text] = self._scene.count_tokens(text)
        return tokens

    def padded(self, text: str) -> int:
        """The count of a whole prompt, on the safe side; an empty one needs no safety."""
        return self.of(text) + self._scene.settings.token_padding if text else 0


class _Parts(Value, frozen=True, kw_only=True):
    """Everything that might be said. `last_line` is the ending as it is counted, behind no text at all."""

    story: str
    examples: tuple[str, ...]
    chat_start: str
    alignment: TextPiece | None
    injected: tuple[ExtensionPrompt, ...]
    chat: TextChat
    last_line: str
    pinned: str

    @property
    def aligning(self) -> str:
        return "" if self.alignment is None else self.alignment.text

    @property
    def unfinished(self) -> str:
        return "" if self.chat.continued is None else self.chat.continued.text

    def counted(self, chosen: Iterable[TextPiece] = (), *, aligned: bool = False) -> str:
        """The text that is counted when these lines of the chat have been chosen, in SillyTavern's order.

        The alignment message is counted in any case, and once more where it is sent.
        """
        chat = (self.aligning if aligned else "") + self.chat_start + _joined(chosen)
        return "".join((self.story, self.pinned, self.aligning, chat, self.last_line, self.unfinished))


class _Chosen(Value, frozen=True, kw_only=True):
    """The lines of the chat that are sent, oldest first, with the alignment message before them if it is needed.

    `by_place` has every line that was written, in the order they were tried; `places` are those that fit.
    """

    lines: tuple[TextPiece, ...]
    places: frozenset[int]
    by_place: Mapping[int, TextPiece]
    aligned: bool


def _prepare(scene: TextScene) -> _Parts:
    heading = scene.settings.context.example_separator
    examples = example_texts(
        scene.dialogues,
        scene.settings.instruct,
        heading=scene.expand(heading) + scene.written("\n", SEPARATOR.what) if heading else "",
        user_name=scene.user_name,
        character_name=scene.character_name,
        group=scene.group,
        expand=scene.expand,
    )
    raw_examples = examples
    if scene.with_instruct:
        start, end = (scene.written(text, SEPARATOR.what) for text in ("<START>\n", "\n"))
        raw_examples = [joined("", (start, dialogue, end)) for dialogue in scene.dialogues]
    story = story_string(scene, examples=examples, raw_examples=raw_examples)
    in_chat = story_in_chat(scene, story)
    prompts = scene.extension_prompts if in_chat is None else (*scene.extension_prompts, in_chat)
    chat_start = scene.settings.context.chat_start
    pins = scene.settings.pin_examples and not scene.settings.strip_examples
    return _Parts(
        story=story if in_chat is None else "",
        examples=tuple(examples),
        chat_start=scene.expand(chat_start + scene.written("\n", SEPARATOR.what)) if chat_start else "",
        alignment=alignment(scene),
        injected=prompts,
        chat=chat_lines(scene, prompts),
        last_line=_joined(ending(scene, "")),
        pinned="".join(examples) if pins else "",
    )


def _choose_lines(scene: TextScene, parts: _Parts, tally: _Tally, mandatory: int) -> _Chosen:
    chat, sequences = parts.chat, Sequences(scene)
    by_place: dict[int, TextPiece] = {}
    places: set[int] = set()
    total = mandatory
    for place in chat.by_precedence(scene.kept):
        speech, line = chat.speeches[place], chat.write(scene, sequences, place)
        tokens = tally.of(line)
        by_place[place] = TextPiece(text=line, source=speech.source, role=speech.role, tokens=tokens)
        total += tokens
        if total >= scene.budget and speech.source != scene.kept:
            break
        places.add(place)
    sent = [by_place[place] for place in sorted(places, reverse=True)]
    oldest = max(places, default=0)
    starts_with_user = bool(chat.speeches) and chat.speeches[oldest].is_user
    if parts.alignment is not None and not starts_with_user:
        sent.insert(0, parts.alignment)
    if not chat.speeches and total < scene.budget:
        # Even without a chat there is something for the last line to stand behind.
        sent.append(TextPiece(text="", source="last_line"))
    return _Chosen(
        lines=_without_last_newline(scene, sent),
        places=frozenset(places),
        by_place=by_place,
        aligned=parts.alignment is not None and not starts_with_user,
    )


def _kept_tokens(scene: TextScene, chosen: _Chosen) -> int:
    if scene.kept is None:
        return 0
    return sum(line.tokens or 0 for line in chosen.by_place.values() if line.source == scene.kept)


def _without_last_newline(scene: TextScene, sent: list[TextPiece]) -> tuple[TextPiece, ...]:
    """The last line brings its own newline, unless it stands behind sequences that do without."""
    instruct = scene.settings.instruct
    stays = scene.with_instruct and (not instruct.wrap or scene.generation_type == "quiet")
    if not sent or scene.is_continue or stays:
        return tuple(sent)
    return (*sent[:-1], sent[-1].with_(text=sent[-1].text.removesuffix("\n")))


def _choose_examples(scene: TextScene, parts: _Parts, tally: _Tally, chosen: _Chosen) -> Mapping[int, LeftOut | None]:
    """Why each example is left out, or None for those that are sent."""
    if scene.settings.strip_examples:
        return dict.fromkeys(range(len(parts.examples)), "stripped")
    verdicts: dict[int, LeftOut | None] = dict.fromkeys(range(len(parts.examples)))
    if scene.settings.pin_examples or not parts.examples:
        return verdicts
    lines = [line for place, line in chosen.by_place.items() if place in chosen.places]
    total = tally.padded(parts.counted(lines, aligned=chosen.aligned))
    for number, example in enumerate(parts.examples):
        total += tally.of(example)
        if total >= scene.budget:
            verdicts.update(dict.fromkeys(range(number, len(parts.examples)), "behind"))
            verdicts[number] = "budget"
            break
    return verdicts


def _make_room(
    scene: TextScene, parts: _Parts, tally: _Tally, chosen: _Chosen, examples: Mapping[int, LeftOut | None]
) -> tuple[_Chosen, Mapping[int, LeftOut | None], list[TextPiece]]:
    """Count the whole prompt of a continuation, and take away examples from its end and messages from its beginning.

    SillyTavern writes the last line once more for every count, and so does this.
    """
    verdicts = dict(examples)
    lines = list(chosen.lines)
    end: list[TextPiece] = []
    dropped: set[str] = set()
    while True:
        if lines:
            end = [*end, *ending(scene, lines[-1].text + _joined(end))]
        sent = [text for number, text in enumerate(parts.examples) if verdicts[number] is None]
        chat = _joined(lines) + _joined(end)
        whole = "".join((parts.story, *sent, parts.chat_start, chat, "\n", parts.last_line, parts.unfinished))
        if tally.padded(whole) <= scene.budget:
            break
        if sent and not parts.pinned:
            verdicts[len(sent) - 1] = "budget"
        elif oldest := next((line for line in lines if line.source != scene.kept), None):
            lines.remove(oldest)
            dropped.add(oldest.source)
            end = end if lines else []
        else:
            break
    aligned = chosen.aligned and not dropped
    places = frozenset(place for place in chosen.places if chosen.by_place[place].source not in dropped)
    return chosen.with_(lines=tuple(lines), places=places, aligned=aligned), verdicts, end


def _head(parts: _Parts, tally: _Tally, examples: Mapping[int, LeftOut | None]) -> list[TextPiece]:
    pieces = [TextPiece(text=parts.story, source="story_string", tokens=tally.of(parts.story))]
    for number, text in enumerate(parts.examples):
        reason = examples[number]
        tokens = tally.of(text) if reason in (None, "budget") else None
        pieces.append(
            TextPiece(text=text, source=f"example:{number}", kept=reason is None, tokens=tokens, reason=reason)
        )
    return [*pieces, TextPiece(text=parts.chat_start, source="chat_start", tokens=tally.of(parts.chat_start))]


def _chat_pieces(chat: TextChat, chosen: _Chosen) -> Iterator[TextPiece]:
    """All of the chat, sent or not, oldest first; what was never written is there in its own words."""
    sent = iter(chosen.lines)
    if chosen.aligned:
        yield next(sent)
    for place in range(len(chat.speeches) - 1, -1, -1):
        if place in chosen.places:
            yield next(sent)
        elif place in chosen.by_place:
            yield chosen.by_place[place].with_(kept=False, reason="budget")
        else:
            speech = chat.speeches[place]
            yield TextPiece(text=speech.text, source=speech.source, role=speech.role, kept=False, reason="behind")


def _joined(pieces: Iterable[TextPiece]) -> str:
    return "".join(piece.text for piece in pieces)


def _cleaned(pieces: Iterable[TextPiece], *, collapse: bool) -> tuple[TextPiece, ...]:
    """The pieces without carriage returns and, if so set, without empty lines, also where two pieces meet."""
    cleaned: list[TextPiece] = []
    after_newline = False
    for piece in pieces:
        text = rewritten(piece.text, _without_returns) if "\r" in piece.text else piece.text
        if collapse and piece.kept:
            text = rewritten(text, collapse_newlines)
            text = text.removeprefix("\n") if after_newline else text
            after_newline = text.endswith("\n") if text else after_newline
        if text:
            cleaned.append(piece if text == piece.text else piece.with_(text=text))
    return tuple(cleaned)


def _without_returns(text: str) -> str:
    return text.replace("\r", "")
