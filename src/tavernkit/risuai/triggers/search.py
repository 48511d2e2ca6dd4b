"""Looking for a text in the last messages of a chat."""

from __future__ import annotations

from tavernkit.risuai.triggers.places import sliced
from tavernkit.risuai.triggers.run import TriggerRun


def is_in_chat(run: TriggerRun, wanted: str, how: str, depth: float) -> bool | None:
    """Whether the last `depth` messages, all with 0, have a word (`strict`), a text in any case (`loose`), or a match
    of a pattern (`regex`); None for any other way to look."""
    text = " ".join(message.data for message in sliced(run.messages, -depth))
    run.shared.budget.step(len(text))
    match how:
        case "strict":
            return wanted in text.split(" ")
        case "loose":
            return wanted.lower() in text.lower()
        case "regex":
            pattern = run.regex(wanted)
            return run.match(text, lambda limit: pattern.test(text, limit=limit))
        case _:
            return None
