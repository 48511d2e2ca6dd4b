"""What the API takes and gives about accounts. Hashes and other people's addresses are never among it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from tavernkit.playground.base.accounts.api_keys import LONGEST_KEY_NAME
from tavernkit.playground.base.accounts.invitations import LONGEST_NOTE, LONGEST_STAY, MOST_USES
from tavernkit.playground.base.accounts.names import LONGEST_EMAIL, LONGEST_NAME
from tavernkit.playground.base.accounts.viewer import Role
from tavernkit.playground.base.passwords import LONGEST_PASSWORD
from tavernkit.playground.base.schemas import StrictModel


class _Out(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class SignInIn(StrictModel):
    """A name or an e-mail address, and the password."""

    login: str = Field(max_length=LONGEST_EMAIL, description="The e-mail address or the name of the account.")
    password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class SignUpIn(StrictModel):
    """A new account."""

    code: str = Field(max_length=100, description="The invitation.")
    name: str = Field(max_length=LONGEST_NAME)
    email: str | None = Field(default=None, max_length=LONGEST_EMAIL)
    password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class MePatch(StrictModel):
    """What to change about oneself; what is left out stays."""

    name: str | None = Field(default=None, max_length=LONGEST_NAME)
    email: str | None = Field(default=None, max_length=LONGEST_EMAIL, description="An empty text takes it away.")


class PasswordIn(StrictModel):
    """A new password, and the present one, unless there is none."""

    current_password: SecretStr = Field(default=SecretStr(""), max_length=LONGEST_PASSWORD)
    new_password: SecretStr = Field(max_length=LONGEST_PASSWORD)


class ApiKeyIn(StrictModel):
    """A key to be made."""

    name: str = Field(max_length=LONGEST_KEY_NAME, description="What the key is for.")


class InvitationIn(StrictModel):
    """An invitation to be made."""

    role: Role = "member"
    note: str = Field(default="", max_length=LONGEST_NOTE, description="For whom it is; only administrators see it.")
    max_uses: int = Field(default=1, ge=1, le=MOST_USES, description="How many people can sign up with it.")
    days: int | None = Field(
        default=7, ge=1, le=LONGEST_STAY, description="How long it can be used; null is without end."
    )


class UserPatch(StrictModel):
    """What to change about somebody; what is left out stays."""

    role: Role | None = None
    status: Literal["active", "inactive"] | None = None


class UserOut(_Out):
    """An account, as administrators see it."""

    id: UUID
    name: str
    email: str | None
    role: Role
    status: Literal["active", "inactive"]
    created_at: datetime


class MeOut(UserOut):
    """One's own account."""

    has_password: bool = Field(description="False as long as nobody needs to sign in on this machine.")
    via: Literal["local", "session", "api_key"] = Field(description="How this request has proved who asks.")
    prompt_tokens_total: int
    completion_tokens_total: int


class SessionOut(_Out):
    """A browser that is signed in."""

    id: UUID
    address: str
    agent: str
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    is_current: bool = False


class RevokedOut(BaseModel):
    """How many were ended."""

    revoked: int


class ApiKeyOut(_Out):
    """A key, which can be recognised by its beginning."""

    id: UUID
    name: str
    prefix: str
    created_at: datetime
    last_used_at: datetime | None


class NewApiKeyOut(ApiKeyOut):
    """A key that was just made."""

    key: str = Field(description="The key itself. It is shown here and never again.")


class InvitationOut(_Out):
    """An invitation, without its code."""

    id: UUID
    created_by_id: UUID
    role: Role
    note: str
    max_uses: int
    uses_count: int
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


class NewInvitationOut(InvitationOut):
    """An invitation that was just made."""

    code: str = Field(description="The code to sign up with. It is shown here and never again.")
