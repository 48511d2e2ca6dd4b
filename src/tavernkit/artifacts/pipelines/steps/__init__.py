"""What steps do, one module for each kind. Every kind can be checked and run."""

from __future__ import annotations

from typing import TypeAlias

from tavernkit.artifacts.pipelines.steps.guard import GuardStep
from tavernkit.artifacts.pipelines.steps.llm import LlmStep
from tavernkit.artifacts.pipelines.steps.message_transform import MessageTransformStep
from tavernkit.artifacts.pipelines.steps.python import PythonStep
from tavernkit.artifacts.pipelines.steps.template import TemplateStep
from tavernkit.artifacts.pipelines.steps.transform import TransformStep

__all__ = [
    "AnyStep",
    "GuardStep",
    "LlmStep",
    "MessageTransformStep",
    "PythonStep",
    "TemplateStep",
    "TransformStep",
]

AnyStep: TypeAlias = TemplateStep | LlmStep | TransformStep | MessageTransformStep | GuardStep | PythonStep
