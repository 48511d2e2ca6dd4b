"""What administrators do with providers, and those that are there from the start.

Trying one is the one place where a web request waits for a model, and not for long.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit import dialects
from tavernkit.playground.base.accounts.viewer import Viewer, require_administrator
from tavernkit.playground.base.blobs.store import remove_unused
from tavernkit.playground.base.database.models import Provider, SiteSetting
from tavernkit.playground.base.database.start_lock import start_lock
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.llm.addresses import is_same_server, read_address
from tavernkit.playground.base.llm.base import ChatRequest, ModelClient, ModelError
from tavernkit.playground.base.llm.kinds import DIALECT, PROVIDER_KINDS, kind_of, request_fields
from tavernkit.playground.base.llm.kinds.embedded import (
    EMBEDDED,
    EMBEDDED_CONTEXT_TOKENS,
    EMBEDDED_MODEL,
    EMBEDDED_NAME,
    EMBEDDED_RESPONSE_TOKENS,
)
from tavernkit.playground.base.llm.kinds.kind import FIELDS
from tavernkit.playground.base.llm.kinds.openai import OPENAI
from tavernkit.playground.base.llm.secrets import KEY_FILE, KeyBox
from tavernkit.playground.base.refused import Refused, stale
from tavernkit.playground.base.runtime import Runtime
from tavernkit.playground.base.storable import presentable, storable, titled
from tavernkit.playground.story.providers.documents import (
    ModelsOut,
    NewProvider,
    PatchProvider,
    Problem,
    ProviderOut,
    TrialOut,
)
from tavernkit.playground.story.providers.queries import (
    default_provider,
    is_name_taken,
    provider_named,
    provider_to_manage,
    use_as_default,
)
from tavernkit.values import JsonObject

NAMELESS = "Provider"
MAX_SETTINGS_CHARACTERS = 32_768


async def add_provider(runtime: Runtime, viewer: Viewer, new: NewProvider) -> Provider:
    """Add a provider; it answers for those who choose it, and is the default where there is none."""
    require_administrator(viewer)
    _check_settings(new.settings)
    kind = PROVIDER_KINDS[new.kind]
    address = read_address(new.base_url or kind.home)
    name, provider_id = titled(new.name, NAMELESS), runtime.ids()
    row = Provider(
        id=provider_id,
        name=name,
        kind=new.kind,
        base_url=address,
        api_key=None if new.api_key is None else runtime.keys.encrypt(new.api_key.get_secret_value(), provider_id),
        model=storable(new.model).strip(),
        context_tokens=new.context_tokens,
        response_tokens=new.response_tokens,
        settings=presentable(new.settings),
        streamable=new.streamable,
        sees_pictures=new.sees_pictures,
        timeouts=new.timeouts.unusual(kind),
        created_at=runtime.clock(),
    )
    try:
        async with runtime.database.write() as session:
            if await is_name_taken(session, name):
                raise _taken(name)
            session.add(row)
            await session.flush()
            if await default_provider(session) is None:
                await use_as_default(session, row)
            return row
    except IntegrityError:
        # Somebody else was quicker.
        raise _taken(name) from None


async def change_provider(runtime: Runtime, viewer: Viewer, provider_id: UUID, patch: PatchProvider) -> Provider:
    """Change a provider, or disable it; runs that have begun go on as they began."""
    try:
        async with runtime.database.write() as session:
            row = await provider_to_manage(session, viewer, provider_id, lock=True)
            if row.settings_version != patch.settings_version:
                raise stale(_("provider"), ProviderOut.of(row))
            address = row.base_url
            if patch.base_url is not None:
                address = read_address(patch.base_url or kind_of(row).home)
            name = row.name if patch.name is None else titled(patch.name, NAMELESS)
            _check(row, patch, address)
            if name != row.name and await is_name_taken(session, name):
                raise _taken(name)
            _write(runtime, row, patch, name=name, address=address)
            if session.is_modified(row):
                row.settings_version += 1
            await session.flush()
            return row
    except IntegrityError:
        raise _taken(patch.name or "") from None


async def delete_provider(runtime: Runtime, viewer: Viewer, provider_id: UUID) -> None:
    """Delete a provider; members and spaces that had chosen it use the default one."""
    async with runtime.database.write() as session:
        row = await provider_to_manage(session, viewer, provider_id, lock=True)
        if kind_of(row).is_built_in:
            raise Refused("conflict", _("The built-in model cannot be deleted. Disable it instead."))
        if row.is_default:
            raise _is_default()
        await session.execute(delete(Provider).where(Provider.id == row.id))
        await remove_unused(session, [row.tokenizer_sha256])


async def make_default(runtime: Runtime, viewer: Viewer, provider_id: UUID) -> Provider:
    """Let a provider answer where nobody has chosen one."""
    async with runtime.database.write() as session:
        row = await provider_to_manage(session, viewer, provider_id)
        if kind_of(row).is_built_in and not runtime.models.has_embedded:
            raise Refused("conflict", _("The built-in model is not installed. Choose another model."))
        await use_as_default(session, row)
        return row


def _check(row: Provider, patch: PatchProvider, address: str) -> None:
    """Refuse a change that would not work, or give the key away."""
    given, kind = patch.model_fields_set, kind_of(row)
    if given & (FIELDS - kind.fields):
        raise Refused("invalid", kind.missing_field)
    if patch.disabled and row.is_default:
        raise _is_default()
    if row.api_key is not None and "api_key" not in given and not is_same_server(row.base_url, address):
        # Whoever got hold of an administrator's session could have the key sent to themselves.
        raise Refused(
            "invalid", _("The new address is on another server. Enter its API key, or remove the stored key.")
        )
    _check_settings(patch.settings or {})


def _write(runtime: Runtime, row: Provider, patch: PatchProvider, *, name: str, address: str) -> None:
    row.name, row.base_url = name, address
    if "api_key" in patch.model_fields_set:
        secret = None if patch.api_key is None else patch.api_key.get_secret_value()
        row.api_key = None if secret is None else runtime.keys.encrypt(secret, row.id)
    if patch.model is not None:
        row.model = storable(patch.model).strip()
    if patch.settings is not None:
        row.settings = presentable(patch.settings)
    row.context_tokens = patch.context_tokens or row.context_tokens
    row.response_tokens = patch.response_tokens or row.response_tokens
    row.streamable = row.streamable if patch.streamable is None else patch.streamable
    row.sees_pictures = row.sees_pictures if patch.sees_pictures is None else patch.sees_pictures
    row.timeouts = row.timeouts if patch.timeouts is None else patch.timeouts.unusual(kind_of(row))
    row.disabled = row.disabled if patch.disabled is None else patch.disabled


def _check_settings(settings: JsonObject) -> None:
    dialect = settings.get(DIALECT)
    if dialect is not None and dialect not in dialects.names():
        known = ", ".join(dialects.names())
        raise Refused(
            "invalid", _("The dialect “{name}” does not exist. Choose one of: {known}.", name=dialect, known=known)
        )
    if len(json.dumps(settings)) > MAX_SETTINGS_CHARACTERS:
        raise Refused("too_long", _("The settings can have at most {count} characters.", count=MAX_SETTINGS_CHARACTERS))


def _taken(name: str) -> Refused:
    return Refused("taken", _("A provider named “{name}” already exists. Choose another name.", name=name))


def _is_default() -> Refused:
    return Refused("conflict", _("This is the default model. Make another model the default first."))


SECONDS = 20.0
QUESTION = "Say one word."
MAX_TOKENS = 16


async def try_connection(runtime: Runtime, viewer: Viewer, provider_id: UUID, *, seconds: float = SECONDS) -> TrialOut:
    """Ask the model something tiny, once, and leave as soon as it begins to answer."""
    row = await _provider(runtime, viewer, provider_id)
    loop = asyncio.get_running_loop()
    began = loop.time()
    problem: Problem | None = None
    request = ChatRequest(
        model=row.model,
        messages=({"role": "user", "content": QUESTION},),
        max_tokens=MAX_TOKENS,
        options=request_fields(row),
        attempts=1,
    )
    try:
        async with asyncio.timeout(seconds):
            await _hear(runtime.models.client_for(row), request)
    except ModelError as error:
        problem = _problem(error)
    except TimeoutError:
        problem = _late(row, seconds)
    milliseconds = round((loop.time() - began) * 1000)
    if problem is None:
        async with runtime.database.write() as session:
            tested = update(Provider).where(Provider.id == row.id).values(last_tested_at=runtime.clock())
            await session.execute(tested)
    return TrialOut(ok=problem is None, milliseconds=milliseconds, problem=problem)


async def list_models(runtime: Runtime, viewer: Viewer, provider_id: UUID, *, seconds: float = SECONDS) -> ModelsOut:
    """Ask the provider which models it has."""
    row = await _provider(runtime, viewer, provider_id)
    try:
        async with asyncio.timeout(seconds):
            return ModelsOut(models=list(await runtime.models.client_for(row).list_models()))
    except ModelError as error:
        return ModelsOut(models=[], problem=_problem(error))
    except TimeoutError:
        return ModelsOut(models=[], problem=_late(row, seconds))


async def _provider(runtime: Runtime, viewer: Viewer, provider_id: UUID) -> Provider:
    async with runtime.database.read() as session:
        return await provider_to_manage(session, viewer, provider_id)


async def _hear(client: ModelClient, request: ChatRequest) -> None:
    async with aclosing(client.stream(request)) as events:
        async for _event in events:
            return


def _problem(error: ModelError) -> Problem:
    return Problem(code=error.code, sentence=error.sentence, status=error.status)


def _late(row: Provider, seconds: float) -> Problem:
    sentence = _(
        "{name} did not answer within {seconds} seconds. It may still be loading its model. Try again later.",
        name=row.name,
        seconds=seconds,
    )
    return Problem(code="timeout", sentence=sentence)


ENVIRONMENT_NAME = "From the environment"


async def ensure_providers(runtime: Runtime) -> None:
    """See that the embedded model is there if it is installed, and the one that the environment names.

    The latter is the default from when it is named for as long as it is, unless an administrator chooses another one.
    """
    async with runtime.database.write() as session:
        embedded = await _embedded(runtime, session)
        named = await provider_named(session, ENVIRONMENT_NAME)
        if not runtime.settings.openai_base_url:
            if named is not None and named.is_default and embedded is not None:
                await use_as_default(session, embedded)
        else:
            written = _from_environment(runtime, named)
            if named is None:
                session.add(written)
                await use_as_default(session, written)
        if await default_provider(session) is None:
            oldest = select(Provider).where(~Provider.disabled).order_by(Provider.created_at, Provider.id).limit(1)
            usable = embedded or await session.scalar(oldest)
            if usable is not None:
                await use_as_default(session, usable)


async def _embedded(runtime: Runtime, session: AsyncSession) -> Provider | None:
    """The embedded model; where it is not installed, nobody can choose it until it is."""
    found: Provider | None = await session.scalar(select(Provider).where(Provider.kind == EMBEDDED.id))
    if not runtime.models.has_embedded:
        if found is not None:
            found.is_default, found.disabled = False, True
            await session.flush()
        return None
    if found is not None:
        return found
    embedded = Provider(
        id=runtime.ids(),
        name=EMBEDDED_NAME,
        kind=EMBEDDED.id,
        model=EMBEDDED_MODEL,
        context_tokens=EMBEDDED_CONTEXT_TOKENS,
        response_tokens=EMBEDDED_RESPONSE_TOKENS,
        created_at=runtime.clock(),
    )
    session.add(embedded)
    return embedded


def _from_environment(runtime: Runtime, named: Provider | None) -> Provider:
    settings = runtime.settings
    row = named or Provider(id=runtime.ids(), name=ENVIRONMENT_NAME, kind=OPENAI.id, created_at=runtime.clock())
    row.base_url = settings.openai_base_url
    row.model = settings.openai_model
    row.context_tokens = settings.context_tokens
    row.response_tokens = settings.response_tokens
    secret = settings.openai_api_key.get_secret_value()
    row.api_key = runtime.keys.encrypt(secret, row.id) if secret else None
    return row


CHECK = "secret_key_check"
"""The setting that holds a value sealed with the key that the API keys are sealed with."""

ROW = UUID(int=0)

log = logging.getLogger(__name__)


async def check_key(runtime: Runtime) -> None:
    """Warn when this process has another key than the one that API keys in the database were stored with."""
    async with start_lock(runtime.settings.resolved_database_url), runtime.database.write() as session:
        known = await session.get(SiteSetting, CHECK)
        if known is not None and runtime.keys.decrypt(bytes.fromhex(known.value["value"]), ROW) is not None:
            return
        opens_all = await _opens_all(session, runtime.keys)
        if opens_all:
            sealed = runtime.keys.encrypt(CHECK, ROW).hex()
            await session.merge(SiteSetting(key=CHECK, value={"value": sealed}, updated_at=runtime.clock()))
    if known is not None or not opens_all:
        log.warning(
            "This process has another secret key than the one that API keys in this database were stored with. It "
            "cannot use them, and other processes cannot use those that it stores. Copy %s from the data folder of the "
            "process that stored them to %s, or set TAVERNKIT_SECRET_KEY to the same key for all processes. If that "
            "key is lost, enter the API keys again.",
            KEY_FILE,
            runtime.settings.data_dir,
        )


async def _opens_all(session: AsyncSession, keys: KeyBox) -> bool:
    stored = await session.execute(select(Provider.id, Provider.api_key))
    return all(sealed is None or keys.decrypt(sealed, id) is not None for id, sealed in stored)
