import pytest

from tavernkit.prompt.message import Attachment, Message
from tavernkit.prompt.tokens import CharacterRatio, TokenEstimator, attachment_tokens, message_tokens

PER_CHARACTER: TokenEstimator = CharacterRatio(1)


def test_a_message_is_its_content_its_name_and_its_attachments() -> None:
    message = Message(
        role="user", content="12345", name="Zed", attachments=(Attachment(tokens=100), Attachment(tokens=7))
    )
    assert message_tokens(message, PER_CHARACTER) == 5 + 3 + 107


def test_the_role_and_the_metadata_are_free() -> None:
    assert message_tokens(Message(role="assistant", metadata={"tool_calls": []}), PER_CHARACTER) == 0


def test_the_model_hint_reaches_the_estimator() -> None:
    class ByHint:
        def estimate(self, text: str, model_hint: str | None = None) -> int:
            return {"small": 1, "large": 10}[model_hint or ""]

    message = Message(role="user", content="hello", name="Zed")
    assert [message_tokens(message, ByHint(), hint) for hint in ("small", "large")] == [2, 20]


@pytest.mark.parametrize(
    ("attachment", "tokens"),
    [
        (Attachment(kind="image"), 765),
        (Attachment(kind="image", detail="high"), 765),
        (Attachment(kind="image", detail="low"), 85),
        (Attachment(kind="image", detail="low", tokens=258), 258),
        (Attachment(kind="image", tokens=0), 0),
        (Attachment(kind="audio"), 0),
        (Attachment(kind="video", tokens=5_000), 5_000),
        (Attachment(kind="file"), 0),
    ],
)
def test_an_attachment_costs_what_it_says_or_what_its_kind_costs(attachment: Attachment, tokens: int) -> None:
    assert attachment_tokens(attachment) == tokens
