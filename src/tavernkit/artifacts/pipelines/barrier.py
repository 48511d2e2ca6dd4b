"""What stands between the steps before the main call and the call."""

from __future__ import annotations

from tavernkit.artifacts.candidate import Candidate
from tavernkit.artifacts.pipelines.report import RunReport
from tavernkit.artifacts.pipelines.wording import Wording
from tavernkit.artifacts.view import SessionView
from tavernkit.values import Value

__all__ = ["Barrier"]


class Barrier(Value, frozen=True, kw_only=True):
    """If it is open, the main call can be made, with these candidates in its prompt and the user's message in this
    wording; what was typed is kept beside it. If it is not, the run has ended, and the report says how."""

    is_open: bool
    view: SessionView = SessionView()
    candidates: tuple[Candidate, ...] = ()
    user_message: str = ""
    raw_user_message: str = ""
    wordings: tuple[Wording, ...] = ()
    report: RunReport | None = None
