"""What a build gives back, the same on every platform, and what a reply to it becomes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from tavernkit.lore.verdicts import LoreVerdict, TimedState
from tavernkit.macros.variables import CORE_SCOPES, Variables, VariablesStore
from tavernkit.prompt.context import Context
from tavernkit.prompt.explaining import explained
from tavernkit.prompt.message import Message
from tavernkit.prompt.plan import Plan
from tavernkit.prompt.reasons import Findings
from tavernkit.prompt.sources import Explanation
from tavernkit.prompt.trace import Later
from tavernkit.prompt.warning import BuildWarning
from tavernkit.values import Json, JsonObject, Value


class Request(Value, frozen=True, kw_only=True):
    """What a provider gets: `body` is its messages in the dialect's own shape, or one text; `options` are the samplers
    and limits beside it."""

    dialect: str
    model: str
    body: Json
    options: JsonObject


class BuildResult(Value, frozen=True, kw_only=True):
    """What a build has found out and changed; a platform adds to it what its `take_reply` needs.

    `lore` has a verdict for every entry that was activated or came close, worked out when it is first asked for.
    `timed` is the state for the next build, None where no lore was looked for. `variables` are those after the build,
    by scope. `dialect` and `model` are whom the request is for. `now` is the moment of the build, and `seed` decides
    what chance decides in the reply. `findings` are what `explain()` says of what is not in the request.
    """

    generation_type: str
    dialect: str = "openai"
    model: str = ""
    lore: Sequence[LoreVerdict] = ()
    findings: Findings = Findings()
    timed: TimedState | None = None
    variables: Mapping[str, JsonObject] = {}
    warnings: tuple[BuildWarning, ...] = ()
    now: datetime
    seed: int = 0

    def variables_store(self) -> Variables:
        """A store with the variables as the build has left them."""
        return Variables(*(self.variables.get(scope) for scope in CORE_SCOPES))

    def rng(self) -> random.Random:
        """The source of chance for the reply, from its beginning."""
        return random.Random(self.seed)  # noqa: S311 - stories, not secrets


Result = TypeVar("Result", bound=BuildResult)


class Built(Value, Generic[Result], frozen=True, kw_only=True):
    """A finished build: the plan, and its result. It holds values alone, so it can be pickled, and written as JSON with
    `encode`."""

    plan: Plan
    result: Result

    @property
    def request(self) -> Request:
        """The request for the provider that the build was for; raises DialectError for what it cannot be told."""
        result = self.result
        return Request(
            dialect=result.dialect,
            model=result.model,
            body=self.plan.to_messages(result.dialect, model=result.model),
            options=self.plan.llm_options,
        )

    def explain(self) -> Explanation:
        """Where every character of the request comes from, by message; a text completion is one message.

        Of a build that was not traced, only the blocks are known, and in them the lore. Why something else is not in
        the request, and what a comparison needs, is known of every build.
        """
        return explained(self.plan, self.result.findings, is_one_text=self.result.dialect == "text")

    def encode(self) -> bytes:
        """The build as JSON; raises TypeError for what only the application could write, in `plan.metadata`."""
        # Texts may have half a surrogate pair, and numbers may be infinite: msgspec's own JSON has neither.
        return json.dumps(msgspec.to_builtins(self, enc_hook=_worked_out)).encode()

    @staticmethod
    def decode(data: bytes | str, result: type[Result]) -> Built[Result]:
        """Read what `encode` has written; `result` is the type of the platform's results. Raises ValueError."""
        try:
            written = msgspec.convert(json.loads(data), _Written, dec_hook=_read_later)
            return Built(plan=written.plan, result=msgspec.convert(written.result, result))
        except msgspec.ValidationError as error:
            raise ValueError(f"This is not a build with a {result.__name__}: {error}") from error


class _Written(Value, frozen=True, kw_only=True):
    plan: Plan
    result: Json


class Reply(Value, frozen=True, kw_only=True):
    """What has become of a model's reply. `text` is the whole message, with what it continues; it is empty when nothing
    is left of the reply.

    `variables` are those after the reply, by scope. `messages` is the chat afterwards where the platform may have
    changed it, the reply at its place; `note` its author's note. `emotion` is the one that a script chose, and
    `asks_again` says that a trigger wants the model to be asked again at once.
    """

    text: str
    reasoning: str = ""
    variables: Mapping[str, JsonObject] = {}
    warnings: tuple[BuildWarning, ...] = ()
    messages: tuple[Message, ...] = ()
    note: str = ""
    emotion: str | None = None
    asks_again: bool = False


def common_fields(ctx: Context) -> dict[str, Any]:
    """The fields of a result that every platform fills in the same way."""
    return {
        "generation_type": ctx.generation_type,
        "model": ctx.model or "",
        "variables": snapshot(ctx.variables),
        "warnings": tuple(ctx.warnings),
        "now": ctx.clock(),
        "seed": ctx.rng.getrandbits(64),
    }


def snapshot(variables: VariablesStore) -> dict[str, JsonObject]:
    """The variables of a story by scope."""
    return {scope: variables.snapshot(scope) for scope in CORE_SCOPES}


def _read_later(kind: type, value: Any) -> Any:
    return Later(value) if kind is Later else value


def _worked_out(value: Any) -> Json:
    if isinstance(value, Later):
        return str(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")
