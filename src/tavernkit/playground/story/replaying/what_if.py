"""What prompts would have been: the last turns of a conversation, or the next one, with something changed.

Each turn is built twice, from what was kept of it: as it was, and with the change. No model is asked. Of a job for many
turns its result is kept, like that of any job. The history, the variables and the clock of a turn stay as they were;
how long lore stays or rests is carried from turn to turn.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.errors import TavernKitError
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import (
    Conversation,
    Job,
    Message,
    MessageSwipe,
    ModelPrice,
    PromptInputRecord,
    Provider,
    Space,
)
from tavernkit.playground.base.jobs.service import enqueue_job
from tavernkit.playground.base.jobs.work import JobWork
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused, existing
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.previews.service import (
    KeptPrompt,
    PreviewKind,
    in_preview,
    next_inputs,
    read_prompt,
    unsent_prompt,
)
from tavernkit.playground.story.prompting.building import LORE_TIMERS, BuiltPrompt, build_prompt, timer, timers_in
from tavernkit.playground.story.prompting.fitting import part_name
from tavernkit.playground.story.prompting.inputs import PromptInputs
from tavernkit.playground.story.prompting.inputs_kept import KnownParts, inputs_from
from tavernkit.playground.story.replaying.changes import TriedChange, WhatIf, prepared
from tavernkit.playground.story.replaying.replay import estimator_in, kept_of
from tavernkit.prompt.tokens import default_estimator
from tavernkit.prompt.what_if import (
    MeasuredPrompt,
    TriedTurn,
    TurnChange,
    WhatIfReport,
    measured,
    turn_change,
    what_if_report,
)
from tavernkit.values import Value

WHAT_IF_KIND = "what_if"
MOST_TURNS = 200


class WhatIfTurn(TriedTurn, frozen=True, kw_only=True):
    """One turn of a conversation, with its run and the message that was its reply."""

    run_id: UUID
    message_id: UUID


class NextWhatIf(Value, frozen=True, kw_only=True):
    """The next prompt with something changed, and what is different."""

    change: TurnChange
    prompt: KeptPrompt


class _Turn(Value, frozen=True, kw_only=True):
    run_id: UUID
    message_id: UUID
    number: int


async def ask_what_if(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, change: WhatIf, *, last: int = MOST_TURNS
) -> Job:
    """Have the prompts of the last turns built again with something changed; for members of the space."""
    async with runtime.database.write() as session:
        await _check_access(session, viewer, conversation_id)
        await prepared(session, viewer, change)
        turns, _unkept = await _turns(session, conversation_id, last)
        payload = {"conversation_id": str(conversation_id), "change": change.model_dump(mode="json"), "last": last}
        return await enqueue_job(
            session, runtime, kind=WHAT_IF_KIND, owner_id=viewer.user_id, payload=payload, total=len(turns)
        )


async def carry_out_what_if(work: JobWork) -> dict[str, Any]:
    """The job: turn by turn, to the end or until it is stopped."""
    payload, owner_id = work.claim.payload, work.claim.owner_id
    if owner_id is None:
        raise Refused("conflict", _("The account that has asked for this was deleted."))
    report = await what_if(
        work.runtime,
        Viewer(user_id=owner_id),
        UUID(payload["conversation_id"]),
        WhatIf.model_validate_json(msgspec.json.encode(payload["change"])),
        last=int(payload["last"]),
        work=work,
    )
    result: dict[str, Any] = msgspec.to_builtins(report)
    return result


async def what_if(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    change: WhatIf,
    *,
    last: int = MOST_TURNS,
    work: JobWork | None = None,
) -> WhatIfReport:
    """Build the prompts of the last turns of a conversation again, as they were and with something changed."""
    async with runtime.database.read() as session:
        await _check_access(session, viewer, conversation_id)
        tried = TriedChange(await prepared(session, viewer, change))
        turns, unkept = await _turns(session, conversation_id, last)
    chain, known = _Chain(tried), KnownParts()
    done: list[WhatIfTurn] = []
    for turn in turns:
        if work is not None:
            await work.report(len(done), len(turns))
        done.append(await _tried_turn(runtime, turn, chain, known))
    return what_if_report(done, unkept=unkept)


async def next_what_if(
    runtime: Runtime,
    viewer: Viewer,
    conversation_id: UUID,
    change: WhatIf,
    *,
    speaker_id: UUID | None = None,
    kind: PreviewKind | None = None,
) -> NextWhatIf:
    """The next prompt of a conversation with something changed, beside the one that would be sent."""
    async with runtime.database.read() as session:
        tried = TriedChange(await prepared(session, viewer, change))
    inputs = await next_inputs(runtime, viewer, conversation_id, speaker_id=speaker_id, kind=kind)
    async with runtime.database.read() as session:
        price = await _price(session, inputs.provider)
        previous, _unkept = await _turns(session, conversation_id, 1)
    chain, known = _Chain(tried), KnownParts()
    if previous:
        await _tried_turn(runtime, previous[0], chain, known)

    def build() -> NextWhatIf:
        found, after = chain.turn(inputs, price)
        return NextWhatIf(change=found, prompt=unsent_prompt(after))

    return await in_preview(build)


async def changed_prompt(runtime: Runtime, viewer: Viewer, run_id: UUID, change: WhatIf) -> KeptPrompt:
    """What the prompt of a run would have been with something changed; for whoever may see the prompt."""
    await read_prompt(runtime, viewer, run_id)
    async with runtime.database.read() as session:
        tried = TriedChange(await prepared(session, viewer, change))
    inputs, _price = await _kept_inputs(runtime, run_id, KnownParts())
    return await in_preview(lambda: unsent_prompt(tried.build(tried.on(inputs)), run_id))


class _Chain:
    """Turns one after the other: what each leaves to the next."""

    def __init__(self, tried: TriedChange) -> None:
        self._tried = tried
        self._before: MeasuredPrompt | None = None
        self._after: MeasuredPrompt | None = None

    def turn(self, inputs: PromptInputs, price: float | None) -> tuple[TurnChange, BuiltPrompt]:
        """Build the next turn twice; what is different, and the second prompt."""
        changed = self._tried.build(self._tried.on(self._with_timers(inputs)))
        self._before = _measured(build_prompt(inputs), self._before, price)
        self._after = _measured(changed, self._after, price)
        return turn_change(self._before, self._after, name=lambda slot: str(part_name(slot, {}))), changed

    def _with_timers(self, inputs: PromptInputs) -> PromptInputs:
        """With the timers of lore that the turn before has left, if this one goes on where that one ended."""
        if self._before is None or self._after is None:
            return inputs
        left, new = self._before.built.result.timed, self._after.built.result.timed
        if new is None or left != timers_in(inputs.state) or left == new:
            return inputs
        state = {key: value for key, value in inputs.state.items() if not key.startswith(LORE_TIMERS)}
        state.update(timer("sticky", name, effect) for name, effect in new.sticky.items())
        state.update(timer("cooldown", name, effect) for name, effect in new.cooldown.items())
        return inputs.with_(state=state)


def _measured(prompt: BuiltPrompt, previous: MeasuredPrompt | None, price: float | None) -> MeasuredPrompt:
    return measured(
        prompt.built,
        estimator=prompt.inputs.estimator,
        model=prompt.inputs.provider.model,
        previous=None if previous is None else previous.built,
        price=price,
    )


async def _tried_turn(runtime: Runtime, turn: _Turn, chain: _Chain, known: KnownParts) -> WhatIfTurn:
    found = WhatIfTurn(run_id=turn.run_id, message_id=turn.message_id, number=turn.number)
    try:
        inputs, price = await _kept_inputs(runtime, turn.run_id, known)
        change, _inputs = await asyncio.to_thread(chain.turn, inputs, price)
    except (TavernKitError, Refused) as error:
        return found.with_(error=str(error))
    return found.with_(change=change)


async def _kept_inputs(runtime: Runtime, run_id: UUID, known: KnownParts) -> tuple[PromptInputs, float | None]:
    async with runtime.database.read() as session:
        turn, parts = await kept_of(session, run_id, runtime.keys, known)
        estimator = await estimator_in(turn, parts) or default_estimator()
        inputs = await asyncio.to_thread(inputs_from, turn, parts, estimator)
        return inputs, await _price(session, inputs.provider)


async def _price(session: AsyncSession, provider: Provider) -> float | None:
    price = await session.get(ModelPrice, provider.model)
    return None if price is None else price.prompt_price


async def _check_access(session: AsyncSession, viewer: Viewer, conversation_id: UUID) -> None:
    _conversation, access = await conversation_for(session, conversation_id, viewer, Access.READ)
    if access.member is None and access.level < Access.ADMINISTER:
        raise Refused("forbidden", _("Only members of the space can see prompts."))


async def _turns(session: AsyncSession, conversation_id: UUID, last: int) -> tuple[list[_Turn], int]:
    """The last replies on the path that can be built again, the earliest first; how many others are among them."""
    run_id = func.coalesce(MessageSwipe.run_id, Message.run_id)
    query = (
        select(run_id, Message.id, Message.seq, PromptInputRecord.run_id.is_not(None))
        .outerjoin(MessageSwipe, MessageSwipe.id == Message.active_swipe_id)
        .outerjoin(PromptInputRecord, PromptInputRecord.run_id == run_id)
        .where(
            Message.conversation_id == conversation_id,
            Message.visibility != "hidden",
            run_id.is_not(None),
        )
        .order_by(Message.seq.desc())
        .limit(min(last, MOST_TURNS))
    )
    rows = (await session.execute(query)).all()
    turns = [_Turn(run_id=run, message_id=message, number=seq) for run, message, seq, is_kept in rows if is_kept]
    return turns[::-1], len(rows) - len(turns)


async def owner_of_conversation(runtime: Runtime, conversation_id: UUID) -> Viewer:
    """The owner of the space of a conversation, for whom commands act."""
    async with runtime.database.read() as session:
        query = select(Space.owner_id).join(Conversation, Conversation.space_id == Space.id)
        owner_id = await session.scalar(query.where(Conversation.id == conversation_id))
    return Viewer(user_id=existing(owner_id, _("conversation")))
