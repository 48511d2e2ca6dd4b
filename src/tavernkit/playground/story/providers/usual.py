"""Where models usually are: programs on one's own machine, and companies."""

from __future__ import annotations

from tavernkit.playground.base.llm.kinds.anthropic import ANTHROPIC
from tavernkit.playground.base.llm.kinds.google import GOOGLE
from tavernkit.playground.base.llm.kinds.openai import OPENAI
from tavernkit.values import Value


class UsualServer(Value, frozen=True, kw_only=True):
    """What is known of a server by its name alone; `is_local` ones need no key."""

    slug: str
    name: str
    address: str
    kind: str = OPENAI.id
    is_local: bool = False
    advice: str = ""


USUAL = (
    UsualServer(slug="ollama", name="Ollama", address="http://127.0.0.1:11434/v1", is_local=True,
                advice="Get a model first, with “ollama pull” and its name."),
    UsualServer(slug="lm-studio", name="LM Studio", address="http://127.0.0.1:1234/v1", is_local=True,
                advice="Start its server in the Developer tab."),
    UsualServer(slug="llama-cpp", name="llama.cpp", address="http://127.0.0.1:8080/v1", is_local=True,
                advice="This is llama-server, which has one model loaded; any name will do."),
    UsualServer(slug="koboldcpp", name="KoboldCpp", address="http://127.0.0.1:5001/v1", is_local=True,
                advice="It has one model loaded; any name will do."),
    UsualServer(slug="openrouter", name="OpenRouter", address="https://openrouter.ai/api/v1"),
    UsualServer(slug="openai", name="OpenAI", address=OPENAI.home),
    UsualServer(slug="anthropic", name="Anthropic", address=ANTHROPIC.home, kind=ANTHROPIC.id),
    UsualServer(slug="gemini", name="Google Gemini", address=GOOGLE.home, kind=GOOGLE.id),
    UsualServer(slug="deepseek", name="DeepSeek", address="https://api.deepseek.com/v1"),
    UsualServer(slug="mistral", name="Mistral", address="https://api.mistral.ai/v1"),
    UsualServer(slug="xai", name="xAI", address="https://api.x.ai/v1"),
)  # fmt: skip


def usual_server(slug: str) -> UsualServer | None:
    """The server of that name in an address."""
    return next((server for server in USUAL if server.slug == slug), None)
