"""RisuAI's regex scripts: find and replace in messages, on their way in, out, into the prompt and onto the page."""

from tavernkit.risuai.regex_scripts.applying import ScriptMode, ScriptResult, apply_scripts

__all__ = ["ScriptMode", "ScriptResult", "apply_scripts"]
