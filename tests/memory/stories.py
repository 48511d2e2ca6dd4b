"""Small stories, and a summariser that needs no model."""

from collections.abc import Sequence

from hypothesis import strategies as st

from tavernkit.memory import StoryMessage, SummaryRequest

WORDS = ("lamp", "harbour", "ключи", "钥匙", "heron", "Mira", "tide", "letter", "図書館", "promise", "bell", "coal")


def story(count: int, *, variant: str = "") -> list[StoryMessage]:
    """Messages of Mira (the user) and Sam in turn, each with words of its own."""
    return [
        StoryMessage(
            id=f"m{number}",
            speaker="Mira" if number % 2 == 0 else "Sam",
            by_user=number % 2 == 0,
            text=f"Message {number}: {WORDS[number % len(WORDS)]} and {WORDS[number // 2 % len(WORDS)]}{variant}.",
        )
        for number in range(count)
    ]


def changed(messages: Sequence[StoryMessage], place: int, text: str) -> list[StoryMessage]:
    """The story with another text in one place."""
    return [message.with_(text=text) if at == place else message for at, message in enumerate(messages)]


class EchoSummariser:
    """Answers with everything it was given, so that a test sees what is in a summary."""

    def __init__(self) -> None:
        self.requests: list[SummaryRequest] = []

    def summarise(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        return f"[{request.layer}] {request.messages[-1].content}"


def count_words(text: str) -> int:
    """A count of tokens that is easy to follow."""
    return len(text.split())


edits = st.lists(st.tuples(st.sampled_from(["append", "edit", "swipe", "delete"]), st.integers(0, 10_000)), max_size=30)


def applied(messages: list[StoryMessage], steps: Sequence[tuple[str, int]]) -> list[list[StoryMessage]]:
    """The story after each step."""
    stories = [messages]
    for number, (kind, chance) in enumerate(steps):
        now = list(stories[-1])
        place = chance % len(now) if now else 0
        if kind == "append" or not now:
            now.append(StoryMessage(id=f"new{number}", speaker="Sam", text=f"Later {number} {chance}"))
        elif kind == "edit":
            now[place] = now[place].with_(text=f"Edited {number}")
        elif kind == "swipe":
            now[-1] = now[-1].with_(variant=str(number), text=f"Swiped {number}")
        else:
            del now[place]
        stories.append(now)
    return stories
