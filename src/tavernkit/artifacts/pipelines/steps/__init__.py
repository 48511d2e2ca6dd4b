"""What steps do, one module for each kind. Every kind can be read, written, checked and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tavernkit.artifacts.pipelines.steps.guard import GuardStep
from tavernkit.artifacts.pipelines.steps.llm import LlmStep
from tavernkit.artifacts.pipelines.steps.message_transform import MessageTransformStep
from tavernkit.artifacts.pipelines.steps.python import PythonStep
from tavernkit.artifacts.pipelines.steps.template import TemplateStep
from tavernkit.artifacts.pipelines.steps.transform import TransformStep

__all__ = [
    "KINDS",
    "GuardStep",
    "LlmStep",
    "MessageTransformStep",
    "PythonStep",
    "StepBody",
    "StepKind",
    "TemplateStep",
    "TransformStep",
]

StepKind: TypeAlias = Literal["template", "llm", "transform", "message_transform", "guard", "python"]
StepBody: TypeAlias = TemplateStep | LlmStep | TransformStep | MessageTransformStep | GuardStep | PythonStep

KINDS: Mapping[StepKind, type[StepBody]] = {
    "template": TemplateStep,
    "llm": LlmStep,
    "transform": TransformStep,
    "message_transform": MessageTransformStep,
    "guard": GuardStep,
    "python": PythonStep,
}
