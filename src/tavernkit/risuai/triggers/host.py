"""The one door from triggers to the application around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol


class RefusedByHost(Exception):  # noqa: N818 - no error: a host may decline whatever it likes, and the trigger goes on
    """The host does not do this; the message says why, for the warning."""


def _refused() -> RefusedByHost:
    return RefusedByHost("No application is connected that could do it.")


class TriggerHost(Protocol):
    """What effects ask of the application.

    Triggers run in one go and cannot wait: each method answers at once, from what the application has prepared, and
    raises RefusedByHost for what it has not. An application that has to wait for an answer notes what was asked for,
    gets it, and runs the triggers again, with the answer at hand, on the scene as it was before.
    """

    def alert(self, text: str, *, is_error: bool) -> None:
        """Show a text to the user."""
        raise _refused()

    def ask(self, text: str) -> str:
        """What the user types when shown this text."""
        raise _refused()

    def choose(self, options: Sequence[str], text: str) -> str:
        """The place of the option that the user picks, from `0`, when shown this text."""
        raise _refused()

    def run_command(self, text: str) -> None:
        """Run slash commands, parted by `|`."""
        raise _refused()

    def ask_model(self, prompt: str, model: Literal["model", "submodel"]) -> str:
        """What the model answers to a prompt, which is plain text or ChatML."""
        raise _refused()

    def most_similar(self, text: str, candidates: Sequence[str]) -> Sequence[str]:
        """The candidates by how much they are like the text, the most similar first."""
        raise _refused()

    def make_image(self, prompt: str, negative: str) -> str:
        """The id of a picture of this, as `{{inlay::id}}` names it."""
        raise _refused()

    def wait(self, seconds: float) -> None:
        """Let this time pass."""
        raise _refused()

    def refresh(self, chat_index: str | None) -> None:
        """Draw the page anew, or only the message at this place."""
        raise _refused()


class RefusingHost(TriggerHost):
    """Does nothing that a trigger asks for; an application's own host overrides what it can do."""


REFUSING: TriggerHost = RefusingHost()
"""The host of a run that was given none."""
