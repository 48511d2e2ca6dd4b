"""Profiles and runs for tests, in one line each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tests.artifacts.builders import NOW, SESSION

from tavernkit import Character, Message, User
from tavernkit.artifacts import MemoryStore, Session, SessionArtifacts, session_artifacts
from tavernkit.artifacts.pipelines import (
    Barrier,
    MemoryJournal,
    ModelAnswer,
    ModelRequest,
    PipelineEvent,
    PipelineRunner,
    Profile,
    RunContext,
    RunReport,
    StepFunctions,
    StepJournal,
    StepReport,
    read_from,
    read_profile,
)
from tavernkit.values import Json

Source: TypeAlias = dict[str, Json]
Answer: TypeAlias = str | Exception | Callable[[ModelRequest], Awaitable[str]]

TALK = (
    Message(role="assistant", content="The ferry is late.", name="Mira"),
    Message(role="user", content="I can wait.", name="Robin"),
)


def step(id: str, kind: str = "template", hook: str = "before", **fields: Json) -> Source:
    usual: Source = {"template": {"template": id}, "llm": {"prompt": f"Say {id}."}}.get(kind, {})
    return {"id": id, "kind": kind, "hook": hook, **usual, **fields}


def kept(tag: str, **fields: Json) -> Source:
    return {"tag": tag, **fields}


def fleeting(tag: str, **fields: Json) -> Source:
    return {"tag": tag, "access": "run_only", "retention": {"mode": "ephemeral"}, **fields}


def pipeline(*steps: Source, id: str = "p", **fields: Json) -> Source:
    return {"id": id, "permissions": ["artifact_write", "message_transform"], "steps": list(steps), **fields}


def source(*parts: Source) -> Source:
    """A profile of pipelines, or of one pipeline with these steps."""
    pipelines = list(parts) if parts and "steps" in parts[0] else [pipeline(*parts)]
    return {"id": "profile", "version": 1, "name": "Profile", "pipelines": pipelines}


def profile(*parts: Source) -> Profile:
    return read_profile(source(*parts))


def context(used: Profile, turn: int = 1, **fields: Any) -> RunContext:
    usual = {
        "run_id": f"run-{turn}",
        "idempotency_key": f"user_message:main:{turn}",
        "trigger": "user_message",
        "session": SESSION,
        "now": NOW,
        "seed": "seed",
        "turn_id": f"turn-{turn}",
        "variant_id": f"variant-{turn}",
        "character": Character(name="Mira", description="A pilot.", scenario="A harbour."),
        "user": User(name="Robin", persona="Repairs pianos."),
        "messages": TALK,
    }
    return RunContext(**{**usual, "profile": used, "turn": turn, **fields})


def again(used: Profile, turn: int, number: int = 1, **fields: Any) -> RunContext:
    """The regeneration of a turn."""
    about = {"run_id": f"again-{turn}-{number}", "idempotency_key": f"regenerate:{turn}:{number}"}
    return context(used, turn, trigger="regenerate", variant_id=f"variant-{turn}-{number}", **about, **fields)


COUNT = "{% if art.count %}{{ art.count.value | plus: 1 }}{% else %}1{% endif %}"


def counter(**fields: Json) -> Source:
    """A step after the main call that counts how often the story has gone on."""
    return step("tick", hook="after", template=COUNT, artifacts=[kept("count", contentType="json")], **fields)


class Theatre:
    """A store, a journal and a model with its answers by step; it remembers what was asked and told."""

    def __init__(self, answers: Mapping[str, Answer | list[Answer]] | None = None, **parts: Any) -> None:
        self.store: MemoryStore = parts.get("store") or MemoryStore()
        self.journal: StepJournal = parts.get("journal") or MemoryJournal(self.store)
        self.functions: StepFunctions = parts.get("functions") or StepFunctions()
        self.abort = asyncio.Event()
        self.calls: list[ModelRequest] = []
        self.events: list[PipelineEvent] = []
        self._answers = {
            key: list(value) if isinstance(value, list) else value for key, value in (answers or {}).items()
        }
        self._ids = itertools.count(1)

    async def call(self, request: ModelRequest) -> ModelAnswer:
        self.calls.append(request)
        answer = self._answers.get(request.step, f"answer of {request.step}")
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else await answer(request)
        return ModelAnswer(text=text, prompt_tokens=10, completion_tokens=5)

    async def emit(self, event: PipelineEvent) -> None:
        self.events.append(event)

    def run(self, about: RunContext) -> PipelineRunner:
        return PipelineRunner(
            about,
            read=read_from(self.store),
            journal=self.journal,
            call=self.call,
            clock=lambda: NOW,
            ids=lambda: f"id-{next(self._ids)}",
            functions=self.functions,
            emit=self.emit,
            abort=self.abort,
        )

    async def play(self, about: RunContext, reply: str = "It comes at nine.") -> tuple[Barrier, RunReport]:
        run = self.run(about)
        barrier = await run.before()
        if not barrier.is_open:
            assert barrier.report is not None
            return barrier, barrier.report
        return barrier, await run.after(reply)

    async def view(self, turn: int = 99, session: Session = SESSION) -> SessionArtifacts:
        return session_artifacts(await self.store.load(session), now=NOW, turn=turn)

    def types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def asked(self) -> list[str]:
        return [request.step for request in self.calls]


def reports(report: RunReport) -> dict[str, StepReport]:
    return {step.step: step for step in report.steps}


def statuses(report: RunReport) -> dict[str, str]:
    return {step.step: step.reason or step.status for step in report.steps}


def play(
    about: RunContext, theatre: Theatre | None = None, reply: str = "It comes at nine."
) -> tuple[Barrier, RunReport]:
    return asyncio.run((theatre or Theatre()).play(about, reply))
