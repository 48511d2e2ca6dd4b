"""Settings: from the environment, with defaults that need none."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_data_dir() -> Path:
    """The folder of our own that holds everything unless another one is named."""
    return Path(platformdirs.user_data_dir("tavernkit"))


class AppConfig(BaseSettings):
    """Everything that can be set. Each field is read from `TAVERNKIT_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="TAVERNKIT_", extra="ignore", frozen=True)

    data_dir: Path = Field(default_factory=default_data_dir)
    database_url: str = ""
    database_patience_seconds: float = Field(default=15.0, ge=1, le=600)
    secret_key: SecretStr = SecretStr("")
    host: str = "127.0.0.1"
    hostnames: str = ""
    trusted_proxies: str = ""
    port: int = Field(default=8420, ge=0, le=65535)
    silent_seconds: float = Field(default=20.0, gt=0)
    worker: Literal["embedded", "none"] = "embedded"
    extensions: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    openai_base_url: str = ""
    openai_api_key: SecretStr = SecretStr("")
    openai_model: str = "default"
    context_tokens: int = Field(default=8192, ge=256)
    response_tokens: int = Field(default=512, ge=1)

    lease_seconds: float = Field(default=8.0, gt=0)
    heartbeat_seconds: float = Field(default=2.0, gt=0)
    concurrent_runs: int = Field(default=64, ge=1, le=1000)
    import_bytes: int = Field(default=64 * 1024**3, ge=1)
    import_files: int = Field(default=1_000_000, ge=1)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach what is served. A proxy, or a name, is there for others."""
        return is_loopback(self.host) and not self.trusted_proxies and not self.hostnames

    @property
    def imports_dir(self) -> Path:
        """Where the files of imports lie that somebody sends, a folder for each import."""
        return self.data_dir / "imports"

    @property
    def names(self) -> tuple[str, ...]:
        """What the server may be called, besides the names of this machine itself."""
        return (self.host, *_listed(self.hostnames))

    @field_validator("trusted_proxies")
    @classmethod
    def _read_networks(cls, value: str) -> str:
        return ",".join(str(ip_network(network, strict=False)) for network in _listed(value))

    @property
    def proxy_networks(self) -> list[str]:
        """The networks of proxies that may say who asks; from anywhere else, such headers are ignored."""
        return _listed(self.trusted_proxies)

    @property
    def extension_modules(self) -> list[str]:
        """The extensions that are loaded besides those that are installed."""
        return _listed(self.extensions)

    @property
    def resolved_database_url(self) -> str:
        """The database: the one that was named, or a file in the data folder."""
        url = self.database_url or f"sqlite:///{self.data_dir / 'tavernkit.db'}"
        for plain, with_driver in _DRIVERS.items():
            if url.startswith(f"{plain}://"):
                return with_driver + url.removeprefix(plain)
        return url


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
