"""A scene at a lighthouse, and what a text becomes in it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import cycle
from typing import Any

from tavernkit.macros.variables import Variables
from tavernkit.risuai.cbs import CBSOptions, expand
from tavernkit.risuai.character import RisuCharacter
from tavernkit.risuai.chat import RisuChat, RisuMessage
from tavernkit.risuai.scene import RisuScene
from tavernkit.risuai.settings import RisuSettings

NOW = datetime(2025, 3, 9, 14, 7, 5, tzinfo=UTC)

KEEPER = RisuCharacter(
    name="Marlow",
    id="cha-1",
    description="{{char}} keeps the lamp.",
    first_message="Mind the stairs, {{user}}.",
    alternate_greetings=("Rain again.",),
    default_variables="mood=grey\nlives=3",
)

MESSAGES = (
    RisuMessage(role="user", data="Anyone there?", time=1741525200000),
    RisuMessage(role="char", data="Only me, {{user}}.", time=1741525261000),
    RisuMessage(role="user", data="The tide turned.", time=1741528925000),
)


def a_scene(
    *,
    character: RisuCharacter | None = KEEPER,
    messages: Sequence[RisuMessage] = MESSAGES,
    variables: Mapping[str, Any] | None = None,
    random: Sequence[float] = (0.5,),
    now: datetime = NOW,
    zone: tzinfo = UTC,
    settings: RisuSettings | None = None,
    greeting_index: int = -1,
    **more: Any,
) -> RisuScene:
    return RisuScene(
        character=character,
        chat=RisuChat(messages=list(messages), greeting_index=greeting_index, id="chat-1"),
        settings=settings or RisuSettings(),
        now=lambda: now.astimezone(zone),
        random=cycle(random).__next__,
        user_name="Tess",
        variables=Variables(variables),
        **more,
    )


def says(text: str, scene: RisuScene | None = None, **options: Any) -> str:
    """What the text becomes."""
    return expand(text, scene or a_scene(), CBSOptions(**options))
