"""The tables, one module per noun."""

from tavernkit.playground.database.models.characters import Character
from tavernkit.playground.database.models.conversations import Conversation
from tavernkit.playground.database.models.events import OutboxEvent
from tavernkit.playground.database.models.members import SpaceMembership
from tavernkit.playground.database.models.messages import Message, MessageSwipe
from tavernkit.playground.database.models.providers import Provider
from tavernkit.playground.database.models.runs import Run
from tavernkit.playground.database.models.spaces import Space
from tavernkit.playground.database.models.users import User

__all__ = [
    "Character",
    "Conversation",
    "Message",
    "MessageSwipe",
    "OutboxEvent",
    "Provider",
    "Run",
    "Space",
    "SpaceMembership",
    "User",
]
