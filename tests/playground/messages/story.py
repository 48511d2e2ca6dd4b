"""What folders call `open_story` that have not been renamed yet."""

from tests.playground.playing import Story
from tests.playground.playing import open_story as telling

__all__ = ["Story", "telling"]
