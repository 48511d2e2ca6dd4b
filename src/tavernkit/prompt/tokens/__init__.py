"""Token counting: exact for OpenAI's models and for any `tokenizer.json`, a good guess for everything else.

Importing this loads no vocabulary; an encoding is loaded when a text is first counted with it.
"""

from tavernkit.prompt.tokens.count_cache import CountCache
from tavernkit.prompt.tokens.encoding import CharacterRatio, EncodingInfo, TokenPiece
from tavernkit.prompt.tokens.estimator import TokenEstimator, attachment_tokens, message_tokens
from tavernkit.prompt.tokens.model_estimator import ModelTokenEstimator, default_estimator

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
