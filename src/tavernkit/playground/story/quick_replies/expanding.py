"""What a button says in a conversation: its text with the macros expanded, and what becomes of what was typed."""

from __future__ import annotations

import re
from uuid import UUID

from tavernkit.playground.base.accounts.profile import time_of
from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.languages import sentence_of
from tavernkit.playground.base.refused import Refused, not_found
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import storable
from tavernkit.playground.story.access.access import Access, conversation_for
from tavernkit.playground.story.paths.state import state_at
from tavernkit.playground.story.paths.variables import read_globals
from tavernkit.playground.story.prompting.building import variables_in
from tavernkit.playground.story.prompting.cast import UnpromptableError, load_cast
from tavernkit.playground.story.prompting.inputs import load_history
from tavernkit.playground.story.prompting.macros import chat_lines, expand_macros
from tavernkit.playground.story.quick_replies.documents import buttons_in, is_script, set_fields
from tavernkit.playground.story.quick_replies.queries import sets_shown
from tavernkit.playground.story.runs.speakers import speaking_member
from tavernkit.playground.story.settings_schema.resolving import effective
from tavernkit.values import Value

MESSAGES_READ = 200
_INPUT = re.compile(r"\{\{\s*input\s*\}\}", re.IGNORECASE)


class ExpandedQuickReply(Value, frozen=True, kw_only=True):
    """`text` is sent or put into the composer; `uses_input` says that it stands for what was typed there."""

    text: str
    send: bool
    uses_input: bool


async def expand_quick_reply(
    runtime: Runtime, viewer: Viewer, conversation_id: UUID, set_id: UUID, number: int, *, typed: str
) -> ExpandedQuickReply:
    """The text of a button that is shown in a conversation. Nothing is changed: variables that its macros set are
    forgotten."""
    async with runtime.database.read() as session:
        conversation, access = await conversation_for(
            session, conversation_id, viewer, Access.TAKE_PART, what=_("quick reply")
        )
        shown = {row.id: row for row in await sets_shown(session, viewer, access)}
        row = shown.get(set_id)
        button = None if row is None else next((one for one in buttons_in(row.data) if one.id == number), None)
        if row is None or button is None:
            raise not_found(_("quick reply"))
        if is_script(button.message):
            raise Refused(
                "invalid", _("“{label}” is a script. Scripts are shown and not run.", label=button.label or number)
            )
        speaker = speaking_member(access.member)
        settings = effective(access.space, member=speaker, conversation=conversation).settings
        try:
            cast = await load_cast(session, conversation, speaker, settings)
        except UnpromptableError as error:
            raise Refused("conflict", sentence_of(error)) from None
        history = await load_history(session, conversation, window=MESSAGES_READ, person_id=speaker.id)
        state = await state_at(session, conversation.id, conversation.last_seq)
        variables = variables_in(state, await read_globals(session, access.space.owner_id))
        now = await time_of(session, access.space.owner_id, runtime.clock())
    fields = set_fields(row.data)
    said = storable(
        expand_macros(
            button.message,
            cast.character,
            cast.user,
            variables=variables,
            group=() if cast.group is None else [member.name for member in cast.group.cast],
            clock=lambda: now,
            seed=runtime.ids().int,
            platform="sillytavern",
            engine=settings.prompt.macro_engine,
            chat=chat_lines(history, cast.character, cast.user),
            typed=typed,
        )
    ).strip()
    send, has_input = not fields["disable_send"], bool(typed.strip())
    if _INPUT.search(button.message):
        return ExpandedQuickReply(text=said, send=send, uses_input=True)
    # What goes into the composer never takes the place of words that stand there.
    if has_input and (fields["inject_input"] or not send):
        joined = f"{said} {typed}" if fields["place_before_input"] else f"{typed} {said}"
        return ExpandedQuickReply(text=joined, send=send, uses_input=True)
    return ExpandedQuickReply(text=said, send=send, uses_input=False)
