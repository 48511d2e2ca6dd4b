"""The first stage: the application's hooks, then the scene, and everything that the user's message sets going."""

from __future__ import annotations

from collections.abc import Iterable

from tavernkit.characters.character import Character
from tavernkit.errors import MissingInputError
from tavernkit.prompt.context import Context
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import TracedText
from tavernkit.prompt.sources import FromHistory, FromPreset
from tavernkit.prompt.tracing import traced_fields
from tavernkit.risuai.book_import import module_of_book
from tavernkit.risuai.cards import from_card
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.chat_history import message_id, to_chat
from tavernkit.risuai.scene import RisuScene, estimator_for
from tavernkit.risuai.settings import PromptCard, RisuSettings
from tavernkit.risuai.stages.macro_warnings import warn_in
from tavernkit.risuai.stages.scripts import run_phase, run_scripts
from tavernkit.risuai.workbench import Workbench

GENERATIONS = ("normal", "continue", "swipe", "regenerate")
UTILITY_TEMPLATE = (
    PromptCard(type="plain", kind="main"),
    PromptCard(type="description"),
    PromptCard(type="lorebook"),
    PromptCard(type="chat"),
    PromptCard(type="plain", kind="globalNote"),
    PromptCard(type="postEverything"),
)
"""What a utility character is told instead of the template or the parts of the settings."""


def hooks(ctx: Context) -> None:
    """Let the application change the inputs, see that nothing essential is missing, and set the scene."""
    bench = ctx.platform(Workbench)
    if ctx.character is None and bench.story.character is not None:
        ctx.character = Character(name=bench.story.character.name)
    ctx.hooks.run_before_build(ctx)
    ctx.validate()
    if not isinstance(ctx.preset, RisuSettings):
        raise TypeError(f"RisuAI's prompts are built from RisuSettings, not from a {type(ctx.preset).__name__}.")
    bench.settings = ctx.preset
    bench.scene = _scene(ctx, bench)
    bench.cards = _cards(bench)
    if ctx.is_traced and bench.cards is not None:
        bench.cards = tuple(_marked(card, place) for place, card in enumerate(bench.cards))
    _warn_of_unsupported(ctx, bench)
    _take_message(ctx, bench)


def _scene(ctx: Context, bench: Workbench) -> RisuScene:
    story, user = bench.story, ctx.require_user()
    for name, value in story.toggles.items():
        ctx.variables.set(f"toggle_{name}", value, "global")
    messages = list(ctx.history)
    if ctx.generation_type in ("swipe", "regenerate") and messages and messages[-1].role != "user":
        messages.pop()
    _warn_of_tools(ctx, messages)
    chat = to_chat(messages)
    bench.said = {
        said.id: (f"message:{number}", message)
        for number, (said, message) in enumerate(zip(chat, messages, strict=True))
        if said.id is not None
    }
    return RisuScene(
        character=story.character or from_card(ctx.require_character()),
        chat=RisuChat(
            messages=chat,
            greeting_index=-1 if story.greeting is None else story.greeting,
            id=story.chat_id,
            note=story.note,
            lore=story.lore,
            memory=story.memory_state,
        ),
        settings=bench.settings,
        now=ctx.clock,
        random=ctx.rng.random,
        user_name=user.name,
        persona=user.persona,
        variables=ctx.variables,
        modules=[*story.modules, *map(module_of_book, ctx.books)],
        estimator=estimator_for(ctx.estimator, ctx.model, bench.settings),
        screen=story.screen,
        macros=story.macros,
        on_problem=warn_in(ctx),
    )


def _warn_of_tools(ctx: Context, messages: Iterable[Message]) -> None:
    for number, message in enumerate(messages, start=1):
        if message.role == "tool":
            problem = "the result of one is told as the character's words"
        elif message.metadata.get("tool_calls"):
            problem = "the message's calls of some are left out"
        else:
            continue
        place = f"message {number}"
        ctx.warn("tool_message", f"{place}: RisuAI's chats have no tools: {problem}.", place=place)


def _cards(bench: Workbench) -> tuple[PromptCard, ...] | None:
    """The template that is followed; what stands behind everything else is never missing."""
    if bench.character.is_utility and not (bench.has_template and bench.settings.prompt.utility_override):
        return UTILITY_TEMPLATE
    cards = bench.settings.template
    if cards is None or any(card.type == "postEverything" for card in cards):
        return cards
    return (*cards, PromptCard(type="postEverything"))


def _marked(card: PromptCard, place: int) -> PromptCard:
    """A card of the template whose texts say that they are its."""
    source = FromPreset(prompt=f"card:{place}:{card.type}", name=card.name)
    return traced_fields(card, ("text", "inner_format", "default_text"), source)


def _take_message(ctx: Context, bench: Workbench) -> None:
    """What the user says now passes the `input` triggers and the scripts for input, and joins the chat."""
    scene = bench.scene
    if not (ctx.message or ctx.attachments):
        return
    if ctx.message:
        run_phase(ctx, bench, "input")
    number = len(ctx.history)
    message = bench.marked(ctx, ctx.message, FromHistory(message=number))
    text = run_scripts(ctx, bench, message, "editinput")
    said = Message(role="user", content=str(text), attachments=ctx.attachments)
    id = message_id(said, number)
    moment = ctx.clock().timestamp() * 1000
    scene.chat.messages.append(RisuMessage(role="user", data=said.content, time=moment, id=id))
    bench.said[id] = f"message:{number}", said
    if isinstance(text, TracedText):
        bench.trails[id] = text


def _warn_of_unsupported(ctx: Context, bench: Workbench) -> None:
    if ctx.generation_type not in GENERATIONS:
        ctx.warn(
            "generation_type_unsupported",
            f"RisuAI has no generation type {ctx.generation_type!r}: a normal reply is generated.",
            generation_type=ctx.generation_type,
        )
    if bench.character.is_group:
        ctx.fail(MissingInputError("a group has no prompt of its own: build one for the member who is to answer"))
    if bench.settings.prompt.assistant_prefill:
        ctx.warn(
            "preset_field_unsupported",
            "The preset has a beginning for the reply, which RisuAI keeps but never sends: write a card for it.",
            fields=["assistantPrefill"],
        )
    if bench.character.additional_text:
        ctx.warn(
            "additional_text_unsupported",
            "The character's additional text is left out: RisuAI searches it with embeddings, which are not supported.",
        )
