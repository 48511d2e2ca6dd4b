"""SillyTavern's groups: who speaks next and why, and how the members' cards come into the prompt."""

from tavernkit.sillytavern.groups.activation import (
    DECISION_MISMATCH,
    Decided,
    Decision,
    GroupActivation,
    activate,
    decide,
)
from tavernkit.sillytavern.groups.cards import (
    ExpandFor,
    JoinedCard,
    card_expander,
    group_depth_prompts,
    join_cards,
    speaker_card,
)
from tavernkit.sillytavern.groups.group import (
    CardMode,
    DepthPrompt,
    GroupMember,
    GroupStrategy,
    StoryGroup,
    read_group,
    read_talkativeness,
)
from tavernkit.sillytavern.groups.strategies import (
    CAUSES,
    FindMentions,
    Mention,
    Random,
    Roll,
    SpeakerCause,
    SpeakerReason,
    mentions_in_any_script,
    mentions_of_ascii_words,
)

__all__ = [
    "CAUSES",
    "DECISION_MISMATCH",
    "CardMode",
    "Decided",
    "Decision",
    "DepthPrompt",
    "ExpandFor",
    "FindMentions",
    "GroupActivation",
    "GroupMember",
    "GroupStrategy",
    "JoinedCard",
    "Mention",
    "Random",
    "Roll",
    "SpeakerCause",
    "SpeakerReason",
    "StoryGroup",
    "activate",
    "card_expander",
    "decide",
    "group_depth_prompts",
    "join_cards",
    "mentions_in_any_script",
    "mentions_of_ascii_words",
    "read_group",
    "read_talkativeness",
    "speaker_card",
]
