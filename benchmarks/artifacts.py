"""A build with fifty artifacts in the prompt, beside the same build without them and their wording alone."""

import runpy
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from tavernkit import BuildHooks
from tavernkit.artifacts import (
    Anchor,
    Artifact,
    ArtifactRecord,
    ArtifactVersion,
    InclusionRules,
    PromptCandidate,
    Session,
    include_artifacts,
    session_artifacts,
)
from tavernkit.artifacts.candidate import prepare
from tavernkit.benchmarks import Benchmark, prepared
from tavernkit.sillytavern.presets import ChatPreset

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Session(owner_id="owner", session_id="chat")
ARTIFACTS, TAGS, VERSIONS = 50, 200, 1_000
ROUNDS = 210
RULES = [
    InclusionRules(mode="append_after_last_user").normal(),
    InclusionRules(mode="prepend_system").normal(),
    InclusionRules(anchor=Anchor(selector="relative_to_end", offset=-4), depth_policy="clamp_to_oldest_kept").normal(),
    InclusionRules(anchor=Anchor(selector="relative_to_end", offset=-900), depth_policy="relocate_to_nearest").normal(),
    InclusionRules(operation="merge_section", section="weather", strategy="append").normal(),
]


def seconds_of(call: Callable[[], object]) -> Callable[[], float]:
    """One call at a time, so that the two sides take turns: each finds the caches as other work has left them, as it
    does in an application, where nobody builds the same prompt ten times in a row."""

    def seconds() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return seconds


def candidates() -> list[PromptCandidate]:
    made = []
    for number in range(ARTIFACTS):
        about = Artifact(
            id=str(number),
            session=SESSION,
            tag=f"state_{number}",
            content_type="json",
            visibility="prompt_only",
            inclusion=RULES[number % len(RULES)],
        )
        value = {"number": number, "mood": "calm", "bag": ["rope", "lamp"], "where": {"city": "Ys", "door": number}}
        version = ArtifactVersion(version=1, content=value, content_type="json", created_at=NOW)
        made.append(PromptCandidate(artifact=about, versions=(version,)))
    return made


def story(window: int, wanted: list[PromptCandidate]) -> tuple[Callable[[], object], Callable[[], object]]:
    """A turn of the chat that the benchmark of SillyTavern's prompts tells, with the artifacts, and without them but
    with their words beside it."""
    chat = runpy.run_path(str(Path(__file__).with_name("sillytavern_building.py")))["Chat"](
        ChatPreset(openai_max_context=window, openai_max_tokens=500)
    )

    def with_all() -> None:
        hooks = BuildHooks()
        hooks.before_trimming(include_artifacts(wanted))
        chat.turn(hooks)

    def without() -> None:
        chat.turn()
        for candidate in wanted:
            prepare(candidate)

    return with_all, without


def reading() -> tuple[Callable[[], object], Callable[[], object]]:
    """A session of two hundred tags with a thousand versions each, and the bare walk over its rows."""
    versions = tuple(
        ArtifactVersion(version=number, content="calm", created_at=NOW) for number in range(1, VERSIONS + 1)
    )
    records = [
        ArtifactRecord(
            artifact=Artifact(id=str(number), session=SESSION, tag=f"tag_{number}"), owner="world", versions=versions
        )
        for number in range(TAGS)
    ]

    def read() -> object:
        return session_artifacts(records, now=NOW, turn=1).art()

    def walk() -> object:
        return {record.artifact.tag: [version.content for version in record.versions] for record in records}

    return read, walk


def benchmarks() -> Iterator[Benchmark]:
    wanted = candidates()
    for size, window in (("8k", 8_192), ("128k", 131_072)):
        sides = cache(partial(story, window, wanted))
        yield Benchmark(
            name=f"artifacts, {ARTIFACTS} in a prompt, {size}",
            ours=prepared(lambda sides=sides: seconds_of(sides()[0])),
            baseline=prepared(lambda sides=sides: seconds_of(sides()[1])),
            note="the build without them, and their wording",
            rounds=ROUNDS,
            times_itself=True,
        )
    session = cache(reading)
    yield Benchmark(
        name=f"artifacts, view of {TAGS} tags × {VERSIONS} versions",
        ours=prepared(lambda: seconds_of(session()[0])),
        baseline=prepared(lambda: seconds_of(session()[1])),
        note="walking over the rows",
        times_itself=True,
    )
