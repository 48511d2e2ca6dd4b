"""What is done to a model's reply before it becomes a message."""

from tavernkit.sillytavern.cleanup.markdown import fix_markdown
from tavernkit.sillytavern.cleanup.reply import clean_reply
from tavernkit.sillytavern.cleanup.sentences import trim_to_end_sentence, trim_to_start_sentence
from tavernkit.text.replies import collapse_newlines

__all__ = ["clean_reply", "collapse_newlines", "fix_markdown", "trim_to_end_sentence", "trim_to_start_sentence"]
