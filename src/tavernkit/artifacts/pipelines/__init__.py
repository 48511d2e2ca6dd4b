"""Pipelines: steps that think before the reply, keep the world's state after it, and comment beside it.

`docs/pipelines.md` tells how profiles are written and run.
"""

from tavernkit.artifacts.pipelines.checking import check_profile, read_profile, readable_profile
from tavernkit.artifacts.pipelines.committing import TERMINAL_EVENTS, PipelineEvent
from tavernkit.artifacts.pipelines.context import (
    ChatInfo,
    RunContext,
    SessionReader,
    idempotency_key,
    read_from,
    reserve_tags,
)
from tavernkit.artifacts.pipelines.examples import EXAMPLES, example_profile, example_source
from tavernkit.artifacts.pipelines.journal import (
    JournalState,
    MemoryJournal,
    RunReport,
    StepJournal,
    StepRecord,
    StepReport,
)
from tavernkit.artifacts.pipelines.model import (
    STEP_FUNCTIONS,
    ModelAnswer,
    ModelCall,
    ModelRequest,
    ModelUsage,
    StepFunctionCall,
    StepFunctions,
)
from tavernkit.artifacts.pipelines.model_steps import GuardStep, LlmStep
from tavernkit.artifacts.pipelines.planning import Wording, commit_order, prompt_candidates, step_order
from tavernkit.artifacts.pipelines.profile import Profile, StepPipeline, write_profile
from tavernkit.artifacts.pipelines.running import Barrier, PipelineRunner
from tavernkit.artifacts.pipelines.step import ProfileProblem, Step, StepArtifact, StepCondition, StepKinds, StepScope
from tavernkit.artifacts.pipelines.steps import MessageTransformStep, PythonStep, TemplateStep, TransformStep

__all__ = [
    "EXAMPLES",
    "STEP_FUNCTIONS",
    "TERMINAL_EVENTS",
    "Barrier",
    "ChatInfo",
    "GuardStep",
    "JournalState",
    "LlmStep",
    "MemoryJournal",
    "MessageTransformStep",
    "ModelAnswer",
    "ModelCall",
    "ModelRequest",
    "ModelUsage",
    "PipelineEvent",
    "PipelineRunner",
    "Profile",
    "ProfileProblem",
    "PythonStep",
    "RunContext",
    "RunReport",
    "SessionReader",
    "Step",
    "StepArtifact",
    "StepCondition",
    "StepFunctionCall",
    "StepFunctions",
    "StepJournal",
    "StepKinds",
    "StepPipeline",
    "StepRecord",
    "StepReport",
    "StepScope",
    "TemplateStep",
    "TransformStep",
    "Wording",
    "check_profile",
    "commit_order",
    "example_profile",
    "example_source",
    "idempotency_key",
    "prompt_candidates",
    "read_from",
    "read_profile",
    "readable_profile",
    "reserve_tags",
    "step_order",
    "write_profile",
]
