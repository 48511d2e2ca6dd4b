"""The chat as the prompt needs it: which messages count for this kind of generation, and what is done to their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from tavernkit.history import ChatHistory
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.tracing import traced
from tavernkit.reading import LooseObject, ReportBuilder
from tavernkit.sillytavern.macros.environment import ChatLine
from tavernkit.sillytavern.reasoning import ChatThought, PromptReasoning, returned_reasoning
from tavernkit.sillytavern.regex_scripts import Placement, RegexBudget, apply_scripts
from tavernkit.sillytavern.scene import Scene
from tavernkit.sillytavern.stages.tracing import of_message
from tavernkit.sillytavern.turns import ChatTurn
from tavernkit.values import JsonObject

FIRST_WINDOW = 128
SCRIPT_SECONDS = 5.0
"""What regex scripts may take for the messages that are read at once."""

TOOL_ROLES = ("tool", "function")


class ChatView(Sequence[ChatLine]):
    """The whole chat for macros that ask about it; a message is looked up only when one does. What is pickled are the
    messages."""

    def __init__(self, ctx: Context) -> None:
        self._history: ChatHistory = ctx.history
        self._user = ctx.require_user().name
        self._character = ctx.require_character().name
        self._dropped = int(_drops_last(ctx))
        self._said = (ctx.message,) if ctx.message else ()
        self._is_traced = ctx.platform(Scene).plain is not None
        self._touched = ctx.platform(Scene).touched

    def __len__(self) -> int:
        self._touched.count += 1
        return len(self._history) - self._dropped + len(self._said)

    def __eq__(self, other: object) -> bool:
        return [*self] == [*other] if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(len(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*self],)

    @overload
    def __getitem__(self, index: int) -> ChatLine: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ChatLine]: ...

    def __getitem__(self, index: int | slice) -> ChatLine | Sequence[ChatLine]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        stored = len(self._history) - self._dropped
        if place >= stored:
            return ChatLine(text=self._said[place - stored], name=self._user, is_user=True)
        return self._line(self._history.last(len(self._history) - place)[0], place)

    def _line(self, message: Message, place: int) -> ChatLine:
        swipe, swipes = message.metadata.get("swipe_id"), message.metadata.get("swipes")
        return ChatLine(
            text=traced(message.content, of_message(place, message.metadata)) if self._is_traced else message.content,
            name=message.name or (self._user if message.role == "user" else self._character),
            is_user=message.role == "user",
            is_system=is_hidden(message),
            sent=message.send_date if isinstance(message.send_date, str | int) else None,
            swipe=swipe if isinstance(swipe, int) else None,
            swipe_count=len(swipes) if isinstance(swipes, Sequence) else 0,
        )


def user_messages(ctx: Context) -> int:
    """How many messages of the user the chat holds, the new one included."""
    dropped = ctx.history.last(1)[0].role == "user" if _drops_last(ctx) else False
    return ctx.history.count_role("user") - dropped + bool(ctx.message)


def whole_chat(ctx: Context) -> Iterator[ChatTurn]:
    """The messages from the newest on, hidden ones among them, as far back as one asks."""
    user, character = ctx.require_user().name, ctx.require_character().name
    if ctx.message:
        yield ChatTurn(index=len(ctx.history), text=ctx.message, name=user, is_user=True)
    size, known = FIRST_WINDOW, int(_drops_last(ctx))
    while (window := ctx.history.last(size))[: len(window) - known]:
        for place in range(len(window) - known - 1, -1, -1):
            index = len(ctx.history) - len(window) + place
            yield _turn(window[place], index, user=user, character=character, traces=ctx.is_traced)
        size, known = size * 2, len(window)


def read_turns(ctx: Context, scene: Scene) -> None:
    """Read the newest messages that may be sent: without hidden ones, after the regex scripts for prompts."""
    said: tuple[Message, ...] = ()
    if ctx.message or ctx.attachments:
        said = (Message(role="user", content=_said(ctx, scene), attachments=ctx.attachments),)
    size = FIRST_WINDOW
    while True:
        window = ctx.history.last(size)
        kept = window[:-1] if _drops_last(ctx) else window
        turns = _turns(ctx, scene, [*kept, *said], len(ctx.history) - len(window))
        if turns or len(window) == len(ctx.history):
            break
        size *= 2
    if ctx.generation_type == "swipe":
        turns = turns[:-1]
    scene.messages_read = len(window)
    scene.turns = _as_sent(ctx, scene, turns)
    latest = next((turn for turn in reversed(turns) if turn.is_user), None)
    ctx.user_message = None if latest is None else latest.source


def read_further(ctx: Context, scene: Scene) -> bool:
    """Read as many older messages as have been read so far, none of them twice; whether there were any left."""
    if scene.messages_read >= len(ctx.history):
        return False
    window = ctx.history.last(2 * scene.messages_read)
    older = window[: len(window) - scene.messages_read]
    if not older:
        # A history may tell of a longer chat than it lets one read.
        return False
    turns = _turns(ctx, scene, older, len(ctx.history) - len(window))
    scene.messages_read = len(window)
    scene.turns = (*_as_sent(ctx, scene, turns), *scene.turns)
    return True


def affordable_turns(ctx: Context, scene: Scene, budget: int) -> tuple[ChatTurn, ...]:
    """The newest turns, up to the first that does not fit into the budget, and in any case the user's latest; only as
    much of the chat is read."""
    estimate, model, wording = ctx.estimator.estimate, ctx.model, scene.least_wording()
    counted = 0
    while True:
        turns = scene.turns
        for place in range(len(turns) - counted - 1, -1, -1):
            budget -= estimate(str(wording(turns[place])), model)
            if budget < 0:
                return turns[min(place, _latest_of_user(ctx, turns)) :]
        counted = len(turns)
        if not read_further(ctx, scene):
            return turns


def _latest_of_user(ctx: Context, turns: Sequence[ChatTurn]) -> int:
    found = (place for place in range(len(turns) - 1, -1, -1) if turns[place].source == ctx.user_message)
    return next(found, len(turns)) if ctx.user_message else len(turns)


def _turns(ctx: Context, scene: Scene, messages: Sequence[Message], first: int) -> list[ChatTurn]:
    user, character = ctx.require_user().name, ctx.require_character().name
    traces = ctx.is_traced
    return [
        _turn(message, first + place, user=user, character=character, traces=traces)
        for place, message in enumerate(messages)
        if not is_hidden(message) or (scene.sends_tools and tool_invocations(message.metadata))
    ]


def _as_sent(ctx: Context, scene: Scene, turns: list[ChatTurn]) -> tuple[ChatTurn, ...]:
    """Turns that are older than all that have been read."""
    if turns and turns[0].index == 0:
        # The greeting is the card's, and may not have been expanded when the chat began.
        turns = [turns[0].with_(text=scene.expand(turns[0].text, quietly=True)), *turns[1:]]
    return _returning_thoughts(ctx, scene, _regexed(ctx, scene, turns))


def _said(ctx: Context, scene: Scene) -> str:
    """The new message as SillyTavern keeps it: after the scripts for what the user says, macros expanded."""
    budget = RegexBudget(SCRIPT_SECONDS)
    text = scripted(ctx, scene, ctx.message, Placement.USER_INPUT, None, budget, is_prompt=False)
    return scene.expand(text, quietly=True)


def tool_invocations(metadata: JsonObject) -> list[JsonObject]:
    """The calls of tools, with what they gave, that SillyTavern keeps in a hidden message."""
    extra = metadata.get("extra")
    calls = extra.get("tool_invocations") if isinstance(extra, Mapping) else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _drops_last(ctx: Context) -> bool:
    """A regeneration throws the last reply away before anything is counted."""
    if ctx.generation_type != "regenerate" or ctx.message:
        return False
    last = ctx.history.last(1)
    return bool(last) and last[0].role != "user"


def is_hidden(message: Message) -> bool:
    return message.metadata.get("is_system") is True


def _turn(message: Message, index: int, *, user: str, character: str, traces: bool) -> ChatTurn:
    role, metadata = message.role, message.metadata
    is_user, narrator, bias = role == "user", role == "system", ""
    extra, avatar = metadata.get("extra"), metadata.get("original_avatar")
    if extra is not None and isinstance(extra, Mapping):
        loose = LooseObject(extra, ReportBuilder())
        narrator = narrator or loose.text("type") == "narrator"
        bias = loose.text("bias")
    if role in TOOL_ROLES:
        metadata = {**metadata, "role": role}
    text = message.content
    if traces:
        text = text if isinstance(text, TracedText) else traced(text, of_message(index, metadata))
        bias = bias and traced(bias, of_message(index, metadata, "bias"))
    return ChatTurn(
        index=index,
        text=text,
        name=message.name or (user if is_user else "" if narrator else character),
        is_user=is_user,
        is_system=is_hidden(message),
        is_narrator=narrator,
        force_avatar=bool(metadata.get("force_avatar")),
        original_avatar=avatar if isinstance(avatar, str) else None,
        bias=bias,
        attachments=message.attachments,
        metadata=metadata,
    )


def _regexed(ctx: Context, scene: Scene, turns: Sequence[ChatTurn]) -> Sequence[ChatTurn]:
    if not any(True for _ in scene.story.regex_scripts):
        return turns
    budget = RegexBudget(SCRIPT_SECONDS)
    newest = _newest_depth(ctx, scene)
    return [
        turn.with_(
            text=scripted(
                ctx,
                scene,
                turn.text,
                Placement.USER_INPUT if turn.is_user else Placement.AI_OUTPUT,
                newest + len(turns) - 1 - place,
                budget,
            )
        )
        for place, turn in enumerate(turns)
    ]


def _newest_depth(ctx: Context, scene: Scene) -> int:
    """The depth of the newest turn that has not been read; a message that is being continued is not counted."""
    return len(scene.turns) - (ctx.generation_type == "continue")


def _returning_thoughts(ctx: Context, scene: Scene, turns: Sequence[ChatTurn]) -> tuple[ChatTurn, ...]:
    """The thoughts of the newest messages, in front of their text, where the user wants the model to see them again."""
    thoughts = [_reasoning(turn) if turn.metadata else "" for turn in turns]
    if not any(thoughts):
        return tuple(turns)
    if ctx.is_traced:
        sources = (of_message(turn.index, turn.metadata, "reasoning") for turn in turns)
        thoughts = [traced(thought, source) for thought, source in zip(thoughts, sources, strict=True)]
    budget = RegexBudget(SCRIPT_SECONDS)
    returning = PromptReasoning(scene.story.settings.reasoning, expand=scene.expand)
    returning.count = scene.thoughts_returned
    has_continued = ctx.generation_type == "continue" and not scene.turns
    # Depths are counted within these turns, and the one that is continued is left out there already.
    newer = _newest_depth(ctx, scene) + has_continued
    contents = returned_reasoning(
        [
            ChatThought(content=turn.text, name=turn.name, reasoning=thought)
            for turn, thought in zip(turns, thoughts, strict=True)
        ],
        returning,
        is_continue=has_continued,
        speaker=None if scene.story.group is None else ctx.require_character().name,
        apply_regex=lambda text, depth: scripted(ctx, scene, text, Placement.REASONING, newer + depth, budget),
    )
    scene.thoughts_returned = returning.count
    return tuple(turn.with_(text=content) for turn, content in zip(turns, contents, strict=True))


def _reasoning(turn: ChatTurn) -> str:
    extra = turn.metadata.get("extra")
    thought = extra.get("reasoning") if isinstance(extra, Mapping) else turn.metadata.get("reasoning")
    return thought if isinstance(thought, str) else ""


def scripted(
    ctx: Context,
    scene: Scene,
    text: str,
    placement: Placement,
    depth: int | None,
    budget: RegexBudget,
    *,
    is_prompt: bool = True,
) -> str:
    """A text on its way into the prompt, or into the chat, after the regex scripts that are for it."""
    return apply_scripts(
        text,
        scene.story.regex_scripts,
        placement,
        expand=scene.expand_in_scripts,
        is_prompt=is_prompt,
        depth=depth,
        on_problem=lambda problem: ctx.warn(problem.code, problem.message, error=None, **problem.where),
        budget=budget,
    )
