"""The tables, one module per noun."""

from collections.abc import Mapping

from sqlalchemy import Table

from tavernkit.playground.base.database.base import Base
from tavernkit.playground.base.database.models.artifacts import ArtifactArchive, ArtifactHead, ArtifactVersion
from tavernkit.playground.base.database.models.characters import Blob, Character, CharacterAsset, CharacterVersion
from tavernkit.playground.base.database.models.conversations import Conversation
from tavernkit.playground.base.database.models.events import OutboxEvent
from tavernkit.playground.base.database.models.global_variables import GlobalVariable
from tavernkit.playground.base.database.models.jobs import Job, JobFile
from tavernkit.playground.base.database.models.lorebooks import Lorebook, LorebookEntry, LorebookLink
from tavernkit.playground.base.database.models.members import SpaceMembership
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
from tavernkit.playground.base.database.models.prompts import PromptBlock, PromptSnapshot
from tavernkit.playground.base.database.models.providers import Provider
from tavernkit.playground.base.database.models.rounds import Round, RoundSlot
from tavernkit.playground.base.database.models.runs import Run
from tavernkit.playground.base.database.models.site import SiteSetting
from tavernkit.playground.base.database.models.spaces import Space
from tavernkit.playground.base.database.models.users import (
    ApiKey,
    Invitation,
    KnownBrowser,
    SignInTries,
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
