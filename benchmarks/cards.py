"""Reading a card out of a picture, beside decoding the same payload with the standard library."""

import base64
import json
from collections.abc import Iterator

from tavernkit import characters, example
from tavernkit.benchmarks import Benchmark
from tavernkit.characters import CharacterCard


def benchmarks() -> Iterator[Benchmark]:
    card = CharacterCard(character=example.character())
    picture = characters.to_png(card)
    payload = base64.b64encode(json.dumps(characters.write_card(card)).encode())

    yield Benchmark(
        name="read a PNG card",
        ours=lambda: characters.load(picture),
        baseline=lambda: json.loads(base64.b64decode(payload)),
        note="base64 and json of the same payload, no picture, no model",
    )
