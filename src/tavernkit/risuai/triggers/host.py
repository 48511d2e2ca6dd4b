"""The one door from triggers to the application around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn, Protocol


class RefusedByHost(Exception):  # noqa: N818 - no error: a host may decline whatever it likes, and the trigger goes on
    """The host does not do this; the message says why, for the warning."""


class TriggerHost(Protocol):
    """What effects ask of the application.

    Triggers run in one go and cannot wait: each method answers at once, from what the application has prepared, and
    raises RefusedByHost for what it has not. An application that has to wait for an answer notes what was asked for,
    gets it, and runs the triggers again, with the answer at hand, on the scene as it was before.
    """

    def alert(self, text: str, *, is_error: bool) -> None:
        """Show a text to the user."""

    def ask(self, text: str) -> str:
        """What the user types when shown this text."""

    def choose(self, options: Sequence[str], text: str) -> str:
        """The place of the option that the user picks, from `0`, when shown this text."""

    def run_command(self, text: str) -> None:
        """Run slash commands, parted by `|`."""

    def ask_model(self, prompt: str, model: Literal["model", "submodel"]) -> str:
        """What the model answers to a prompt, which is plain text or ChatML."""

    def most_similar(self, text: str, candidates: Sequence[str]) -> Sequence[str]:
        """The candidates by how much they are like the text, the most similar first."""

    def make_image(self, prompt: str, negative: str) -> str:
        """The id of a picture of this, as `{{inlay::id}}` names it."""

    def wait(self, seconds: float) -> None:
        """Let this time pass."""

    def refresh(self, chat_index: str | None) -> None:
        """Draw the page anew, or only the message at this place."""


class RefusingHost:
    """Does nothing that a trigger asks for; an application's own host overrides what it can do."""

    def alert(self, text: str, *, is_error: bool) -> None:
        self._refuse()

    def ask(self, text: str) -> str:
        self._refuse()

    def choose(self, options: Sequence[str], text: str) -> str:
        self._refuse()

    def run_command(self, text: str) -> None:
        self._refuse()

    def ask_model(self, prompt: str, model: Literal["model", "submodel"]) -> str:
        self._refuse()

    def most_similar(self, text: str, candidates: Sequence[str]) -> Sequence[str]:
        self._refuse()

    def make_image(self, prompt: str, negative: str) -> str:
        self._refuse()

    def wait(self, seconds: float) -> None:
        self._refuse()

    def refresh(self, chat_index: str | None) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RefusedByHost("No application is connected that could do it.")


REFUSING: TriggerHost = RefusingHost()
"""The host of a run that was given none."""
