"""Replaying what SillyTavern and RisuAI really did, case by case, through the public API."""

from tavernkit.conformance.runner import CaseFailure, FileResult, can_replay, run_file
from tavernkit.conformance.vectors import VectorFile, read_vectors

__all__ = ["CaseFailure", "FileResult", "VectorFile", "can_replay", "read_vectors", "run_file"]
