"""What the templates are given: values that are ready to be shown, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from markupsafe import Markup

from tavernkit.playground.edge.views.artifacts import ChatArtifactView, FailureView, OverlayView
from tavernkit.playground.edge.views.runs import TurnsView
from tavernkit.playground.edge.views.spaces import TrailView
from tavernkit.playground.edge.web.requests import ToastView
from tavernkit.values import Value


class MessageView(Value, frozen=True, kw_only=True):
    """One message; `html` has been through `render_markdown`, `swipe` counts from one, and `lore` is how many entries
    of lorebooks it was written with. `left_out` is what did not fit into its prompt. `sent_text` is what the model is
    sent in the place of what a person has typed, and `artifacts` what this swipe has left in the chat; `failures` are
    the steps around it that have failed.

    The same for everybody: what a reader may do with it, their `MessagePermissions` say.
    """

    id: str
    seq: int
    role: Literal["user", "assistant", "system"]
    author: str
    html: Markup
    created_at: datetime
    conversation_id: str = ""
    author_id: str = ""
    is_by_person: bool = False
    picture_sha256: str = ""
    initials: str = "?"
    content: str = ""
    reasoning: str = ""
    is_excluded: bool = False
    can_regenerate: bool = False
    swipe: int = 1
    swipes: int = 1
    run_id: str = ""
    tokens_read: int | None = None
    tokens_written: int | None = None
    lore: int = 0
    left_out: str = ""
    revision: int = 1
    sent_text: str = ""
    artifacts: tuple[ChatArtifactView, ...] = ()
    failures: tuple[FailureView, ...] = ()


class MessagePermissions(Value, frozen=True, kw_only=True):
    """What one reader may do with the messages of a conversation; without more, they may only read.

    `has_branches`: a Playground, where a story branches and has checkpoints; elsewhere there are threads.
    """

    member_id: str = ""
    can_take_part: bool = False
    can_moderate: bool = False
    can_fork: bool = False
    has_branches: bool = False

    def is_own(self, message: MessageView) -> bool:
        return message.author_id == self.member_id if self.member_id else message.is_by_person

    def may_change(self, message: MessageView) -> bool:
        """Authors change what they said, and moderators what anybody did."""
        return self.can_moderate or (self.can_take_part and bool(self.member_id) and self.is_own(message))


class RunView(Value, frozen=True, kw_only=True):
    """A reply that is not a message yet, or that never became one.

    `behind`: the reply is a message already, and steps behind it are at work. `can_skip`: it was cut short, and others
    are to speak behind it. `error_code` and `provider_id` say which links stand beside the error.
    """

    id: str
    status: Literal["queued", "running", "behind", "failed", "canceled"]
    speaker: str
    text: str
    is_by_person: bool = False
    picture_sha256: str = ""
    initials: str = "?"
    error: str | None = None
    error_code: str = ""
    provider_id: str = ""
    preparing: bool = False
    can_skip: bool = False


class ConversationView(Value, frozen=True, kw_only=True):
    """The chat page. `older_before` is the number of the first message shown, when there are older ones."""

    id: str
    title: str
    space_name: str
    messages: tuple[MessageView, ...]
    older_before: int | None
    run: RunView | None
    last_event: int
    model_name: str
    model_is_embedded: bool
    has_model: bool
    persona_name: str
    can_write: bool = True
    is_archived: bool = False
    may_restore: bool = False
    turns: TurnsView = TurnsView(conversation_id="")
    copilot_steps: int = 0
    permissions: MessagePermissions = MessagePermissions()
    toast: ToastView | None = None
    trail: TrailView = TrailView()
    overlays: tuple[OverlayView, ...] = ()


class OlderView(Value, frozen=True, kw_only=True):
    """The messages before number `before`, for the frame that asked for them."""

    conversation_id: str
    before: int
    messages: tuple[MessageView, ...]
    older_before: int | None
    permissions: MessagePermissions = MessagePermissions()
