"""Token counting: exact for OpenAI's models and for any `tokenizer.json`, a good guess for everything else.

Importing this loads no vocabulary; an encoding is loaded when a text is first counted with it.
"""

from tavernkit.prompt.tokens.encoding import CharacterRatio, EncodingInfo, TokenPiece
from tavernkit.prompt.tokens.estimator import (
    CountCache,
    ModelTokenEstimator,
    TokenEstimator,
    attachment_tokens,
    default_estimator,
    message_tokens,
)

__all__ = [
    "CharacterRatio",
    "CountCache",
    "EncodingInfo",
    "ModelTokenEstimator",
    "TokenEstimator",
    "TokenPiece",
    "attachment_tokens",
    "default_estimator",
    "message_tokens",
]
