"""The plain pipeline: character, persona, lore, examples, history and injections, without any platform's rules.

It is what `tavernkit.build` runs unless it is told otherwise, and a place to start one's own from.
"""

from __future__ import annotations

from collections.abc import Iterator

from tavernkit.dialects import SpeakerNames
from tavernkit.errors import TokenBudgetExceeded
from tavernkit.injections import Injection
from tavernkit.lore.activation import activation_parts
from tavernkit.lore.engine import ScanInput
from tavernkit.lore.plain import PlainLore
from tavernkit.macros.engine import NameEnvironment, NameMacros
from tavernkit.prompt.block import Block
from tavernkit.prompt.context import Context
from tavernkit.prompt.finishing import before_trimming, place_in_chat, report_trimming, settle
from tavernkit.prompt.message import Message
from tavernkit.prompt.parts import Part, TracedText, carried, from_source
from tavernkit.prompt.pipeline import Pipeline
from tavernkit.prompt.sources import (
    AnySource,
    FromCard,
    FromHistory,
    FromInjection,
    FromLore,
    FromMacro,
    FromPersona,
    FromTemplate,
    SourceSpan,
)
from tavernkit.prompt.tokens import message_tokens
from tavernkit.prompt.tracing import expanded_by_passes, traced
from tavernkit.prompt.trimming import Trimmer

MAIN_PROMPT = (
    "You are {{char}}, speaking with {{user}} in a story you write together. "
    "Stay in character, answer as {{char}} would, and never decide what {{user}} says or does."
)
MESSAGE_OVERHEAD = 4
HISTORY_WINDOW = 64
LORE_SHARE = 4
LORE_SCAN_MESSAGES = 32


def plain_pipeline() -> Pipeline:
    """The stages in order; edit the returned pipeline to make your own."""
    return Pipeline(
        [
            ("hooks", before_build),
            ("lore", lore),
            ("character", character),
            ("examples", examples),
            ("history", history),
            ("injections", injections),
            ("macros", macros),
            ("before_trimming", before_trimming),
            ("trimming", trimming),
        ]
    )


def before_build(ctx: Context) -> None:
    """Let the application change the inputs, then see that nothing essential is missing."""
    ctx.hooks.run_before_build(ctx)
    ctx.validate()


def lore(ctx: Context) -> None:
    """Find out which entries of the supplied books and of the character's own belong into this prompt."""
    own = ctx.require_character().character_book
    books = (*ctx.books, *([own] if own else []))
    # An engine of one's own may have its lore elsewhere.
    if not books and ctx.lore_engine is None:
        return
    recent = (message.content for message in reversed(ctx.history.last(LORE_SCAN_MESSAGES)))
    scanned = (injection.content for injection in ctx.injections if injection.scan)
    scan_input = ScanInput(
        messages=tuple(text for text in (ctx.message, *scanned, *recent) if text),
        books=books,
        budget=ctx.preset.max_prompt_tokens // LORE_SHARE,
    )
    engine = ctx.lore_engine or PlainLore(ctx.estimator, model_hint=ctx.model)
    result = engine.scan(scan_input)
    ctx.lore_result = result.with_(parts=result.parts or activation_parts(result, scan_input))
    ctx.instrument("lore_scan", activated=len(result.activated_entries), tokens=result.total_tokens)
    if result.trim_report is not None:
        left_out = result.trim_report.eviction_count
        ctx.warn("lore_over_budget", f"{left_out} lore entries did not fit into the lore budget.", count=left_out)


def character(ctx: Context) -> None:
    """Who the model is, with the lore around the description, and the persona it talks to."""
    card = ctx.require_character()
    own = _marked(ctx, MAIN_PROMPT, FromTemplate(what="main prompt"))
    main = _from_card(ctx, "system_prompt").replace("{{original}}", own) or own
    ctx.add_block(source="main", slot="main", content=main, removable=False, token_budget_group="system")
    _lore_blocks(ctx, before=True)
    for slot, text in (
        ("description", _from_card(ctx, "description")),
        ("personality", card.personality and _headed(ctx, "{{char}}'s personality: ", _from_card(ctx, "personality"))),
        ("scenario", card.scenario and _headed(ctx, "Scenario: ", _from_card(ctx, "scenario"))),
        ("persona", _marked(ctx, ctx.require_user().persona, FromPersona(user=ctx.require_user().name))),
    ):
        if text.strip():
            ctx.add_block(source=slot, slot=slot, content=text, removable=False, token_budget_group="system")
    _lore_blocks(ctx, before=False)


def _marked(ctx: Context, text: str, source: AnySource) -> str:
    """The text, which in a traced build says where it comes from."""
    return traced(text, source) if ctx.is_traced else text


def _from_card(ctx: Context, field: str) -> str:
    card = ctx.require_character()
    text: str = getattr(card, field)
    if not ctx.is_traced:
        return text
    return traced(text, FromCard(character=card.name, field=field, version=card.character_version))


def _headed(ctx: Context, heading: str, text: str) -> str:
    return _marked(ctx, heading, FromTemplate(what="heading")) + text


def _lore_blocks(ctx: Context, *, before: bool) -> None:
    for entry, part in ctx.lore_result.entry_parts() if ctx.lore_result else ():
        if (entry.position == "before_char") == before:
            ctx.add_block(
                source=f"lore:{entry.id}",
                stage="lore",
                slot="lore_before" if before else "lore_after",
                content=from_source(traced(entry.content, _entry(part)) if ctx.is_traced else entry.content, part),
                priority=entry.priority or 0,
                token_budget_group="lore",
            )


def _entry(part: Part) -> FromLore:
    return FromLore(book=part.book, entry=part.source, name=part.name, cause=part.cause, key=part.key)


def examples(ctx: Context) -> None:
    """One block for each example dialogue, so that a dialogue is kept or dropped as a whole."""
    for number, dialogue in enumerate(_dialogues(_from_card(ctx, "mes_example")), start=1):
        ctx.add_block(
            source=f"example:{number}",
            slot="examples",
            content=_headed(ctx, "Example of how {{char}} speaks:\n", dialogue),
            token_budget_group="examples",
        )


def _dialogues(text: str) -> Iterator[str]:
    normalised = text.replace("<start>", "<START>")
    return (part.strip() for part in normalised.split("<START>") if part.strip())


def history(ctx: Context) -> None:
    """The conversation so far, as much of it as could fit, the new message, and what the card says after it."""
    card = ctx.require_character()
    window = _window(ctx)
    omitted = len(ctx.history) - len(window)
    if omitted:
        ctx["history_omitted"] = omitted
        ctx.stat("history_omitted", omitted)
    # Where only two speak, the roles say who; a provider would show or even refuse their names.
    the_two = {card.name, card.display_name, ctx.require_user().name}
    ctx.user_message = _latest_of_user(ctx, window, omitted)
    for index, message in enumerate(window, start=omitted):
        source = f"message:{index}"
        ctx.add_block(
            source=source,
            slot="history",
            role=message.role,
            content=traced(message.content, _said(index, message)) if ctx.is_traced else message.content,
            name=None if message.name in the_two else message.name,
            attachments=message.attachments,
            message_metadata=message.metadata,
            removable=not ctx.must_keep(source),
            token_budget_group="history",
        )
    if ctx.message or ctx.attachments:
        ctx.add_block(
            source="message",
            slot="history",
            role="user",
            content=_marked(ctx, ctx.message, FromHistory(message=len(ctx.history))),
            attachments=ctx.attachments,
            removable=not ctx.must_keep("message"),
            token_budget_group="history",
        )
    if card.post_history_instructions.strip():
        ctx.add_block(
            source="post_history_instructions",
            slot="post_history_instructions",
            content=_from_card(ctx, "post_history_instructions").replace("{{original}}", ""),
            removable=False,
            token_budget_group="system",
        )
    if not len(ctx.history):
        ctx.greeting = card.first_mes or None


def _said(index: int, message: Message) -> FromHistory:
    swipe = message.metadata.get("swipe_id")
    return FromHistory(message=index, swipe=swipe if isinstance(swipe, int) else None)


def _latest_of_user(ctx: Context, window: list[Message], first: int) -> str | None:
    if ctx.message or ctx.attachments:
        return "message"
    said = (place for place in range(len(window) - 1, -1, -1) if window[place].role == "user")
    return next((f"message:{first + place}" for place in said), None)


def _window(ctx: Context) -> list[Message]:
    """The newest messages, enough to fill the budget; a long chat is never read as a whole."""
    budget = ctx.preset.max_prompt_tokens
    size = HISTORY_WINDOW
    while True:
        window = list(ctx.history.last(size))
        if len(window) < size:
            return window
        if sum(message_tokens(message, ctx.estimator, ctx.model) for message in window) >= budget:
            return window
        size *= 2


def injections(ctx: Context) -> None:
    """What the application injects: around the character, or `depth` messages before the end of the chat."""
    for injection in ctx.injections:
        if injection.position != "none" and injection.content:
            block = ctx.new_block(
                source=injection.id,
                slot="injection",
                role=injection.role,
                content=_marked(ctx, injection.content, FromInjection(id=injection.id)),
                token_budget_group="injections",
                removable=False,
            )
            ctx.blocks.insert(_place(ctx.blocks, injection), block)


def _place(blocks: list[Block], injection: Injection) -> int:
    has_chat = any(block.slot == "history" for block in blocks)
    behind_character = next(
        (index for index, block in enumerate(blocks) if block.slot in ("examples", "history")), len(blocks)
    )
    if injection.position == "before":
        at = 0
    elif injection.position == "after" or not has_chat:
        at = behind_character
    else:
        at = place_in_chat(blocks, injection.depth)
    while at < len(blocks) and blocks[at].slot == "injection":
        at += 1
    return at


def macros(ctx: Context) -> None:
    """Put the names in. Other macros stay as they are and are warned about: they need a platform's engine."""
    environment = NameEnvironment(
        character_name=ctx.require_character().display_name,
        user_name=ctx.require_user().name,
        variables=ctx.variables,
    )
    engine = NameMacros()
    for index, block in enumerate(ctx.blocks):
        content = engine.expand(block.content, environment)
        if content != block.content:
            ctx.blocks[index] = block.with_(content=_followed(block, content, engine, environment))
        if "{{" in content and block.slot != "history":
            ctx.warn(
                "unexpanded_macro",
                f"A macro in {block.source['id']} stays as it is: a plain build replaces only names.",
                source=block.source,
            )
    if ctx.greeting is not None:
        ctx.greeting = engine.expand(ctx.greeting, environment)
    ctx.dialect_options["names"] = SpeakerNames(char=environment.character_name, user=environment.user_name)


def _followed(block: Block, content: str, engine: NameMacros, environment: NameEnvironment) -> str:
    """The new content of a block, which knows what the old one does."""
    if block.parts or not block.trail:
        known = block.sourced_content
        return carried(known, expanded_by_passes(known, content))
    trail: list[SourceSpan] = []
    matches = engine.NAMES.finditer(block.content)
    match, at, moved = next(matches, None), 0, 0
    for start, end, source in block.trail:
        at = max(at, start)
        while match is not None and match.start() < end:
            place = match.start() + moved
            until = place + len(engine.name_of(match, environment))
            answer = FromMacro(name=match[1] or match[2], inside=source)
            trail += [(at + moved, place, source), (place, until, answer)]
            at, moved = match.end(), until - match.end()
            match = next(matches, None)
        trail.append((at + moved, end + moved, source))
    return TracedText(content, (), [span for span in trail if span[0] < span[1]])


def trimming(ctx: Context) -> None:
    """Make it fit, and say what had to go."""
    trimmer = Trimmer(ctx.trim_strategy or "group_order", message_overhead=MESSAGE_OVERHEAD)
    budget = ctx.preset.max_prompt_tokens
    try:
        result = trimmer.trim(ctx.blocks, budget=budget, estimator=ctx.estimator, model_hint=ctx.model)
    except TokenBudgetExceeded as error:
        ctx.fail(error)
    ctx.blocks = list(result.blocks)
    report_trimming(ctx, result.report)
    settle(ctx)
