"""Providers out of the forms of the pages, and back into them when something was wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Form
from pydantic import BaseModel, SecretStr, ValidationError

from tavernkit import dialects
from tavernkit.playground.base.database.models import Provider
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.addresses import without_credentials
from tavernkit.playground.base.llm.kinds import DIALECT, dialect_of, kind_of, request_fields
from tavernkit.playground.base.llm.kinds.openai import OPENAI
from tavernkit.playground.base.refused import Refused
from tavernkit.playground.edge.web.forms import problem_in
from tavernkit.playground.story.providers.documents import NewProvider, PatchProvider
from tavernkit.playground.story.providers.queries import UsualServer

M = TypeVar("M", NewProvider, PatchProvider)

FIELDS = {
    "name": _("Name"),
    "kind": _("Type"),
    "base_url": _("Address"),
    "api_key": _("API key"),
    "model": _("Model"),
    "context_tokens": _("Context size"),
    "response_tokens": _("Response length"),
    "sees_pictures": _("Pictures"),
}


class ProviderForm(BaseModel):
    """What somebody typed, as it is; the key goes in and is never shown again. `server` is where it began. Where
    no dialect can be chosen, it is None."""

    server: str = ""
    name: str = ""
    kind: str = OPENAI.id
    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    forget_key: bool = False
    model: str = ""
    context_tokens: str = "8192"
    response_tokens: str = "512"
    streamable: bool = False
    sees_pictures: str = "auto"
    dialect: str | None = None
    settings_version: int = 0


Typed = Annotated[ProviderForm, Form()]


def new_form(server: UsualServer | None) -> ProviderForm:
    """An empty form, or one with what is known of a server."""
    if server is None:
        return ProviderForm(streamable=True)
    return ProviderForm(
        server=server.slug, name=server.name, kind=server.kind, base_url=server.address, streamable=True
    )


def form_of(row: Provider) -> ProviderForm:
    """A provider as it is now."""
    return ProviderForm(
        name=row.name,
        kind=row.kind,
        base_url=without_credentials(row.base_url),
        model=row.model,
        context_tokens=str(row.context_tokens),
        response_tokens=str(row.response_tokens),
        streamable=row.streamable,
        sees_pictures=row.sees_pictures,
        dialect=row.settings.get(DIALECT),
        settings_version=row.settings_version,
    )


def dialect_choices(row: Provider) -> list[str]:
    """The dialects that extensions have added, and the one that was chosen: ours belong to their kinds."""
    added = {name for name in dialects.names() if not dialects.get(name).__module__.startswith(f"{dialects.__name__}.")}
    return sorted(added | {dialect_of(row)} - {kind_of(row).dialect})


def read_new(form: ProviderForm) -> NewProvider:
    """What is to be added."""
    fields = {**_common(form), "kind": form.kind, "base_url": form.base_url.strip(), "model": form.model}
    fields["streamable"] = form.streamable
    if form.api_key.get_secret_value().strip():
        fields["api_key"] = form.api_key.get_secret_value().strip()
    return _understood(NewProvider, fields)


def read_patch(form: ProviderForm, row: Provider) -> PatchProvider:
    """What is to be changed; an address that was not touched stays as it is, with what is not shown of it."""
    fields = {**_common(form), "settings_version": form.settings_version}
    if form.dialect is not None:
        chosen = {} if form.dialect == kind_of(row).dialect else {DIALECT: form.dialect}
        fields["settings"] = {**request_fields(row), **chosen}
    typed: dict[str, Any] = {"model": form.model, "streamable": form.streamable}
    if form.base_url.strip() != without_credentials(row.base_url):
        typed["base_url"] = form.base_url.strip()
    secret = form.api_key.get_secret_value().strip()
    if secret or form.forget_key:
        typed["api_key"] = secret or None
    own = kind_of(row).fields
    return _understood(PatchProvider, {**fields, **{name: value for name, value in typed.items() if name in own}})


def _common(form: ProviderForm) -> dict[str, Any]:
    return {
        "name": form.name.strip(),
        "context_tokens": form.context_tokens.strip(),
        "response_tokens": form.response_tokens.strip(),
        "sees_pictures": form.sees_pictures,
    }


def _understood(model: type[M], fields: Mapping[str, Any]) -> M:
    try:
        return model(**fields)
    except ValidationError as error:
        raise Refused("invalid", problem_in(error.errors()[0], FIELDS)) from None
