"""The tables, one module per noun."""

from collections.abc import Mapping

from sqlalchemy import Table

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models.artifacts import ArtifactArchive, ArtifactHead, ArtifactVersion
from tavernkit.playground.base.database.models.characters import Blob, Character, CharacterAsset, CharacterVersion
from tavernkit.playground.base.database.models.conversations import Conversation, GlobalVariable, OutboxEvent
from tavernkit.playground.base.database.models.jobs import Job, JobFile
from tavernkit.playground.base.database.models.lorebooks import Lorebook, LorebookEntry, LorebookLink
from tavernkit.playground.base.database.models.messages import Message, MessageSwipe, PathSnapshot, TextContent
from tavernkit.playground.base.database.models.personas import Persona
from tavernkit.playground.base.database.models.pipelines import (
    PipelineChoice,
    PipelineProfile,
    PipelineProfileVersion,
    PipelineRun,
    PipelineStepRun,
)
from tavernkit.playground.base.database.models.presets import Preset
from tavernkit.playground.base.database.models.providers import Provider
from tavernkit.playground.base.database.models.runs import PromptBlock, PromptSnapshot, Round, RoundSlot, Run
from tavernkit.playground.base.database.models.spaces import Space, SpaceMembership
from tavernkit.playground.base.database.models.users import (
    ApiKey,
    Invitation,
    KnownBrowser,
    SignInTries,
    SiteSetting,
    User,
    UserSession,
)

__all__ = [
    "TABLES",
    "ApiKey",
    "ArtifactArchive",
    "ArtifactHead",
    "ArtifactVersion",
    "Blob",
    "Character",
    "CharacterAsset",
    "CharacterVersion",
    "Conversation",
    "GlobalVariable",
    "Invitation",
    "Job",
    "JobFile",
    "KnownBrowser",
    "Lorebook",
    "LorebookEntry",
    "LorebookLink",
    "Message",
    "MessageSwipe",
    "OutboxEvent",
    "PathSnapshot",
    "Persona",
    "PipelineChoice",
    "PipelineProfile",
    "PipelineProfileVersion",
    "PipelineRun",
    "PipelineStepRun",
    "Preset",
    "PromptBlock",
    "PromptSnapshot",
    "Provider",
    "Round",
    "RoundSlot",
    "Run",
    "SignInTries",
    "SiteSetting",
    "Space",
    "SpaceMembership",
    "TextContent",
    "User",
    "UserSession",
]

TABLES: Mapping[str, Table] = Base.metadata.tables
"""All tables by name. Whoever needs them takes them from here, where every module that declares one is imported."""
