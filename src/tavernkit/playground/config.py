"""Settings: from the environment, with defaults that need none."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["Settings"]


class Settings(BaseSettings):
    """Everything that can be set. Each field is read from `TAVERNKIT_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="TAVERNKIT_", extra="ignore", frozen=True)

    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_dir("tavernkit")))
    database_url: str = ""
    host: str = "127.0.0.1"
    hostnames: str = ""
    port: int = Field(default=8420, ge=0, le=65535)
    worker: Literal["embedded", "none"] = "embedded"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    openai_base_url: str = ""
    openai_api_key: SecretStr = SecretStr("")
    openai_model: str = "default"
    context_tokens: int = Field(default=8192, ge=256)
    response_tokens: int = Field(default=512, ge=1)

    lease_seconds: float = Field(default=8.0, gt=0)
    heartbeat_seconds: float = Field(default=2.0, gt=0)
    concurrent_runs: int = Field(default=64, ge=1, le=1000)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach what is served."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def names(self) -> tuple[str, ...]:
        """What the server may be called, besides the names of this machine itself."""
        return (self.host, *(name.strip() for name in self.hostnames.split(",") if name.strip()))

    @property
    def resolved_database_url(self) -> str:
        """The database: the one that was named, or a file in the data folder."""
        url = self.database_url or f"sqlite:///{self.data_dir / 'tavernkit.db'}"
        for plain, with_driver in _DRIVERS.items():
            if url.startswith(f"{plain}://"):
                return with_driver + url.removeprefix(plain)
        return url


_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
