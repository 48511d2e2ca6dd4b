"""The scene that RisuAI's parts share."""

from __future__ import annotations

import pytest
from tests.risuai.lorebook.builders import scene_with

from tavernkit.prompt.tokens import default_estimator
from tavernkit.risuai.settings import RisuSettings


class Hints:
    """Remembers for which model it was asked to count."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []

    def estimate(self, text: str, model_hint: str | None = None) -> int:
        self.seen.append(model_hint)
        return default_estimator().estimate(text, model_hint)


@pytest.mark.parametrize("model", ["gpt4", "gpt4_turbo", "gpt35_16k", "gptvi4_1106", "instructgpt35"])
def test_risuais_names_for_older_models_count_with_their_encoding(model: str) -> None:
    scene, hints = scene_with(), Hints()
    scene.estimator, scene.settings = hints, RisuSettings(model=model)
    text = "Привет, 안녕하세요"
    assert scene.count_tokens(text) == default_estimator().estimate(text, "gpt-4")
    assert hints.seen == ["cl100k_base"]


@pytest.mark.parametrize("model", ["gpt4o", "gpt4om-2024-07-18", "gpt45", "gpt-4.1", "claude-3", "custom"])
def test_other_models_are_left_to_the_estimator(model: str) -> None:
    scene, hints = scene_with(), Hints()
    scene.estimator, scene.settings = hints, RisuSettings(model=model)
    scene.count_tokens("x")
    assert hints.seen == [model]
