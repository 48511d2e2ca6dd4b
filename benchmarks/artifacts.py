"""A build with fifty artifacts in the prompt, beside the same build without them and their wording alone."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tavernkit import Book, BuildHooks, Character, Entry, Message, Plan, User
from tavernkit.artifacts import (
    Anchor,
    Artifact,
    ArtifactRecord,
    ArtifactVersion,
    Candidate,
    PromptInclusion,
    Session,
    include_artifacts,
    session_view,
)
from tavernkit.artifacts.candidate import prepare
from tavernkit.benchmarks import Benchmark
from tavernkit.history import InMemoryHistory
from tavernkit.sillytavern import build
from tavernkit.sillytavern.presets import ChatPreset

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = Session(owner_id="owner", session_id="chat")
ARTIFACTS, MESSAGES, ENTRIES, TAGS, VERSIONS = 50, 1_000, 500, 200, 1_000
CALLS = 10
RULES = [
    PromptInclusion.of(mode="append_after_last_user"),
    PromptInclusion.of(mode="prepend_system"),
    PromptInclusion.of(anchor=Anchor(selector="relative_to_end", offset=-4), depth_policy="clamp_to_oldest_kept"),
    PromptInclusion.of(anchor=Anchor(selector="relative_to_end", offset=-900), depth_policy="relocate_to_nearest"),
    PromptInclusion.of(operation="merge_section", section="weather", strategy="append"),
]


def undisturbed(call: Callable[[], object]) -> Callable[[], float]:
    """The seconds of the quickest of some calls. Two milliseconds pass without an interruption even on a busy machine;
    a whole round of many calls does not, and the two sides of a benchmark differ by less than that."""

    def quickest() -> float:
        seconds = []
        for _ in range(CALLS):
            began = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - began)
        return min(seconds)

    return quickest


def candidates() -> list[Candidate]:
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
        made.append(Candidate(artifact=about, versions=(version,)))
    return made


class Chat:
    def __init__(self, window: int) -> None:
        self.preset = ChatPreset(openai_max_context=window, openai_max_tokens=500)
        self.book = Book(
            name="World",
            entries=tuple(
                Entry(id=str(number), keys=(f"{number}:", f"place {number}"), content=f"Place {number} lies far away.")
                for number in range(ENTRIES)
            ),
        )
        self.history = InMemoryHistory(
            Message(role="assistant" if number % 2 else "user", content=f"{number}: {'some words of a story ' * 10}")
            for number in range(MESSAGES)
        )

    def turn(self, wanted: list[Candidate]) -> Plan:
        hooks = BuildHooks()
        if wanted:
            hooks.after_build(include_artifacts(wanted))
        return build(
            character=Character(name="Mira", description="Paints harbours."),
            user=User(name="Robin"),
            preset=self.preset,
            history=self.history,
            message="And then?",
            books=[self.book],
            hooks=hooks,
        )

    def with_all(self, wanted: list[Candidate]) -> Callable[[], object]:
        return lambda: self.turn(wanted)

    def without(self, wanted: list[Candidate]) -> Callable[[], None]:
        """The prompt without the artifacts, and their words beside it."""

        def run() -> None:
            self.turn([])
            for candidate in wanted:
                prepare(candidate)

        return run


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
        return session_view(records, now=NOW, turn=1).art()

    def walk() -> object:
        return {record.artifact.tag: [version.content for version in record.versions] for record in records}

    return read, walk


def benchmarks() -> Iterator[Benchmark]:
    wanted = candidates()
    for size, window in (("8k", 8_192), ("128k", 131_072)):
        chat = Chat(window)
        yield Benchmark(
            name=f"artifacts, {ARTIFACTS} in a prompt, {size}",
            ours=undisturbed(chat.with_all(wanted)),
            baseline=undisturbed(chat.without(wanted)),
            note="the build without them, and their wording",
            times_itself=True,
        )
    read, walk = reading()
    yield Benchmark(
        name=f"artifacts, view of {TAGS} tags × {VERSIONS} versions",
        ours=undisturbed(read),
        baseline=undisturbed(walk),
        note="walking over the rows",
        times_itself=True,
    )
