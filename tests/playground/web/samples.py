"""Pages' values, as the application would fill them."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from tavernkit.playground.base.text.markdown import render_markdown
from tavernkit.playground.edge.presenting.conversations import ConversationView, RunView
from tavernkit.playground.edge.presenting.home import CastChoice, HomeView, SpaceCard, face
from tavernkit.playground.edge.presenting.messages import MessageView

EVENING = datetime(2026, 10, 14, 19, 42, tzinfo=UTC)
OTTOLINE = "Ottoline Marsh"
TAGLINE = "Keeps the dead-letter office at the last stop of tram line nine. Has been wrong twice in nineteen years."
GREETING = (
    "The bell over the door gives half a ring and thinks better of it.\n\n"
    '"We\'re shut," says the woman behind the counter, without looking up from a ledger as wide as a door. Then she '
    "does look up, and not at your face. At the envelope.\n\n"
    "She takes off her spectacles, wipes the rain-light from them, and puts them back on.\n\n"
    '"Well. We *were* shut." She turns the lamp so that it falls on the counter between you. "Before you tell me whose '
    'it is, tell me this. When did you last write that address by hand, and were you happy?"'
)
ANSWER = "Last spring, I think. And no. But I don't remember being *un*happy either."
REPLY = (
    '"Abel said that. Out loud?" She is already turning pages; the ledger smells of cold tea and rope. Her finger '
    "stops on a line that has been ruled through in green and then, very carefully, *un*-ruled.\n\n"
    "\"Then we'd better do this properly. Sit. Mind the cat, she's a parcel.\""
)


def message(seq: int, text: str, *, own: bool = False) -> MessageView:
    return MessageView(
        id=f"00000000-0000-4000-8000-{seq:012}",
        seq=seq,
        role="user" if own else "assistant",
        author="Robin" if own else OTTOLINE,
        is_by_person=own,
        html=render_markdown(text),
        created_at=EVENING + timedelta(minutes=seq),
    )


STORY = (message(1, GREETING), message(2, ANSWER, own=True), message(3, REPLY))
HALF = REPLY[:220]


def run(
    status: Literal["queued", "running", "failed", "canceled"] = "running",
    text: str = "",
    error: str | None = None,
    *,
    preparing: bool = False,
) -> RunView:
    return RunView(id="r1", status=status, speaker=OTTOLINE, text=text, error=error, preparing=preparing)


def conversation(
    id: str = "story",
    *,
    messages: tuple[MessageView, ...] = STORY,
    run: RunView | None = None,
    older_before: int | None = None,
    embedded: bool = True,
) -> ConversationView:
    return ConversationView(
        id=id,
        title="A letter in my own hand",
        space_name="The dead-letter office",
        messages=messages,
        older_before=older_before,
        run=run,
        last_event=7,
        model_name="SmolLM2 135M" if embedded else "gpt-4o",
        model_is_embedded=embedded,
        has_model=True,
        persona_name="Robin",
    )


def home(*, empty: bool = False) -> HomeView:
    cards = (
        SpaceCard(
            id="story",
            space_id="office",
            fold="12 branches",
            is_unread=True,
            tags=("noir", "for winter"),
            title="A letter in my own hand",
            space_name="The dead-letter office",
            kind="Branch",
            faces=(face(OTTOLINE, None), face("Mr Abel", None)),
            last_line="“Then we'd better do this properly. Sit. Mind the cat, she's a parcel.” She pulls the lamp "
            "closer and smooths the envelope with the side of her hand, and for a long while there is only the rain.",
            last_at=EVENING,
        ),
        SpaceCard(
            id="night",
            space_id="car",
            fold="",
            title="The last car",
            space_name="The last car",
            kind="",
            faces=(face("Mr Abel", None),),
            last_line="He punches the ticket a second time and says nothing.",
            last_at=EVENING - timedelta(days=400),
        ),
    )
    return HomeView(
        stories=() if empty else cards,
        characters=(
            CastChoice(id="c1", face=face(OTTOLINE, None), tagline=TAGLINE),
            CastChoice(
                id="c2", face=face("Mr Abel", None), tagline="Has never sold a return ticket from the end stop."
            ),
        ),
        older="",
        is_first=True,
        model_name="SmolLM2 135M",
        model_is_embedded=True,
        has_model=True,
    )
