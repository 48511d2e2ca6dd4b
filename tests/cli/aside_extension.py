"""An extension that adds what `examples/extension` does not: importers, an estimator, a step function."""

from tavernkit import Book, Character, CharacterCard, TokenEstimator, on_load
from tavernkit.artifacts.pipelines import STEP_FUNCTIONS, StepFunctionCall, StepFunctions
from tavernkit.characters import Bundle
from tavernkit.chats import ChatFile, ChatMessage
from tavernkit.importers import Importers
from tavernkit.prompt.tokens import ModelTokenEstimator
from tavernkit.reading import ImportReport


def is_aside(data: bytes) -> bool:
    return data.startswith(b"ASIDE ")


def name_in(data: bytes) -> str:
    return data.decode().removeprefix("ASIDE ").strip()


def read_card(data: bytes) -> Bundle:
    card = CharacterCard(character=Character(name=name_in(data)))
    return Bundle(format="json", card=card, report=ImportReport(format="aside"))


@on_load("tavernkit.importers", id="tests.aside")
def add_importers(importers: Importers) -> None:
    importers.characters.register("aside", is_aside, read_card)
    importers.lorebooks.register("aside", is_aside, lambda data: Book(name=name_in(data)))
    importers.chats.register(
        "aside", is_aside, lambda data: ChatFile(messages=(ChatMessage(name=name_in(data), text="Psst."),))
    )


class WordCount(TokenEstimator):
    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


@on_load("tavernkit.token_estimators", id="tests.aside")
def add_estimator(estimator: ModelTokenEstimator) -> None:
    estimator.register("aside-*", WordCount())


async def whisper(call: StepFunctionCall) -> object:
    return "Psst."


@on_load(STEP_FUNCTIONS, id="tests.aside")
def add_step_function(functions: StepFunctions) -> None:
    functions.register("tests.whisper", whisper)
