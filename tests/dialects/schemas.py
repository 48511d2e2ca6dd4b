"""The request formats of the providers, as their documentation gives them.

Only what concerns messages. A field that the documentation does not name is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = ["SCHEMAS", "validate"]


class Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    pass


# OpenAI, chat completions. Compatible servers add video_url.

OpenAIName = Annotated[str, Meta(pattern=r"^[^\s<|\\/>]+$", max_length=64)]
DataOrWebAddress = Annotated[str, Meta(pattern=r"^(data:[^;,]+;base64,|https?://)")]


class CacheControl(Strict, tag_field="type", tag="ephemeral"):
    ttl: Literal["5m", "1h"] | None = None


class TextPart(Strict, tag_field="type", tag="text"):
    text: str
    cache_control: CacheControl | None = None


class ImageAddress(Strict):
    url: DataOrWebAddress
    detail: Literal["auto", "low", "high"] = "auto"


class ImagePart(Strict, tag_field="type", tag="image_url"):
    image_url: ImageAddress
    cache_control: CacheControl | None = None


class VideoAddress(Strict):
    url: DataOrWebAddress
    detail: str = ""


class VideoPart(Strict, tag_field="type", tag="video_url"):
    video_url: VideoAddress


class Audio(Strict):
    data: str
    format: Literal["wav", "mp3"]


class AudioPart(Strict, tag_field="type", tag="input_audio"):
    input_audio: Audio


class File(Strict):
    filename: str
    file_data: DataOrWebAddress


class FilePart(Strict, tag_field="type", tag="file"):
    file: File


class Function(Strict):
    name: str
    arguments: str


class ToolCall(Strict, tag_field="type", tag="function"):
    id: str
    function: Function


class OpenAISystem(Strict, tag_field="role", tag="system"):
    content: str | list[TextPart]
    name: OpenAIName | None = None


class OpenAIUser(Strict, tag_field="role", tag="user"):
    content: str | list[TextPart | ImagePart | AudioPart | FilePart | VideoPart]
    name: OpenAIName | None = None


class OpenAIAssistant(Strict, tag_field="role", tag="assistant"):
    content: str | list[TextPart] | None = None
    name: OpenAIName | None = None
    tool_calls: Annotated[list[ToolCall], Meta(min_length=1)] | None = None
    prefix: bool | None = None


class OpenAITool(Strict, tag_field="role", tag="tool"):
    content: str | list[TextPart]
    tool_call_id: str


OpenAI = list[OpenAISystem | OpenAIUser | OpenAIAssistant | OpenAITool]


# Anthropic, messages.


class AnthropicBase64(Strict, tag_field="type", tag="base64"):
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"]
    data: str


class AnthropicUrl(Strict, tag_field="type", tag="url"):
    url: Annotated[str, Meta(pattern="^https?://")]


class AnthropicPlainText(Strict, tag_field="type", tag="text"):
    media_type: Literal["text/plain"]
    data: str


class AnthropicText(Strict, tag_field="type", tag="text"):
    text: str
    cache_control: CacheControl | None = None


class AnthropicImage(Strict, tag_field="type", tag="image"):
    source: AnthropicBase64 | AnthropicUrl
    cache_control: CacheControl | None = None


class AnthropicDocument(Strict, tag_field="type", tag="document"):
    source: AnthropicBase64 | AnthropicUrl | AnthropicPlainText
    title: str | None = None
    cache_control: CacheControl | None = None


class AnthropicToolUse(Strict, tag_field="type", tag="tool_use"):
    id: Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]+$")]
    name: str
    input: dict[str, Any]
    cache_control: CacheControl | None = None


class AnthropicToolResult(Strict, tag_field="type", tag="tool_result"):
    tool_use_id: Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]+$")]
    content: str | list[AnthropicText | AnthropicImage]
    is_error: bool = False
    cache_control: CacheControl | None = None


class AnthropicUser(Strict, tag_field="role", tag="user"):
    content: list[AnthropicText | AnthropicImage | AnthropicDocument | AnthropicToolResult]


class AnthropicAssistant(Strict, tag_field="role", tag="assistant"):
    content: list[AnthropicText | AnthropicToolUse]


class Anthropic(Strict):
    system: list[AnthropicText]
    messages: list[AnthropicUser | AnthropicAssistant]


# Google, generateContent.


class GoogleBlob(Strict, rename="camel"):
    mime_type: Annotated[str, Meta(pattern="^[a-z]+/")]
    data: str


class GoogleCall(Strict):
    name: str
    args: dict[str, Any]


class GoogleResponse(Strict):
    name: str
    response: dict[str, Any]


class GoogleResolution(Strict):
    level: str


class GooglePart(Strict, rename="camel"):
    text: str | None = None
    inline_data: GoogleBlob | None = None
    function_call: GoogleCall | None = None
    function_response: GoogleResponse | None = None
    thought_signature: str | None = None
    media_resolution: GoogleResolution | None = None

    def __post_init__(self) -> None:
        data = (self.text, self.inline_data, self.function_call, self.function_response)
        if sum(value is not None for value in data) != 1:
            raise ValueError("a part holds exactly one kind of data")


class GoogleContent(Strict):
    role: Literal["user", "model"]
    parts: Annotated[list[GooglePart], Meta(min_length=1)]


class GoogleInstruction(Strict):
    parts: list[GooglePart]


class Google(Strict):
    system_instruction: GoogleInstruction
    contents: list[GoogleContent]


# Cohere, chat v2.


class CohereSystem(Strict, tag_field="role", tag="system"):
    content: str | list[TextPart]


class CohereUser(Strict, tag_field="role", tag="user"):
    content: str | list[TextPart | ImagePart]


class CohereAssistant(Strict, tag_field="role", tag="assistant"):
    content: str | list[TextPart] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_plan: str | None = None


class CohereTool(Strict, tag_field="role", tag="tool"):
    content: str | list[TextPart]
    tool_call_id: str


Cohere = Annotated[list[CohereSystem | CohereUser | CohereAssistant | CohereTool], Meta(min_length=1)]


# AI21, chat completions.


class AI21System(Strict, tag_field="role", tag="system"):
    content: str


class AI21User(Strict, tag_field="role", tag="user"):
    content: str


class AI21Assistant(Strict, tag_field="role", tag="assistant"):
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class AI21Tool(Strict, tag_field="role", tag="tool"):
    content: str
    tool_call_id: str


AI21 = Annotated[list[AI21System | AI21User | AI21Assistant | AI21Tool], Meta(min_length=1)]


# Mistral, chat completions.

MistralId = Annotated[str, Meta(pattern="^[a-zA-Z0-9]{9}$")]


class MistralAudioPart(Strict, tag_field="type", tag="input_audio"):
    input_audio: str


class MistralDocumentPart(Strict, tag_field="type", tag="document_url"):
    document_url: DataOrWebAddress
    document_name: str | None = None


class MistralToolCall(Strict, tag_field="type", tag="function"):
    id: MistralId
    function: Function


class MistralSystem(Strict, tag_field="role", tag="system"):
    content: str | list[TextPart]


class MistralUser(Strict, tag_field="role", tag="user"):
    content: str | list[TextPart | ImagePart | MistralAudioPart | MistralDocumentPart]


class MistralAssistant(Strict, tag_field="role", tag="assistant"):
    content: str | list[TextPart] | None = None
    tool_calls: list[MistralToolCall] | None = None
    prefix: bool = False


class MistralTool(Strict, tag_field="role", tag="tool"):
    content: str | list[TextPart]
    tool_call_id: MistralId
    name: str | None = None


Mistral = list[MistralSystem | MistralUser | MistralAssistant | MistralTool]


# xAI, chat completions.


class XAISystem(Strict, tag_field="role", tag="system"):
    content: str | list[TextPart]


class XAIUser(Strict, tag_field="role", tag="user"):
    content: str | list[TextPart | ImagePart]
    name: str | None = None


class XAIAssistant(Strict, tag_field="role", tag="assistant"):
    content: str | list[TextPart] | None = None
    tool_calls: list[ToolCall] | None = None


class XAITool(Strict, tag_field="role", tag="tool"):
    content: str | list[TextPart]
    tool_call_id: str


XAI = list[XAISystem | XAIUser | XAIAssistant | XAITool]


SCHEMAS: dict[str, Any] = {
    "openai": OpenAI,
    "anthropic": Anthropic,
    "google": Google,
    "cohere": Cohere,
    "ai21": AI21,
    "mistral": Mistral,
    "xai": XAI,
    "text": str,
}


def validate(dialect: str, written: Any) -> Any:
    """The request as the provider would read it; raises msgspec.ValidationError when it would be refused."""
    return msgspec.convert(written, SCHEMAS[dialect])
