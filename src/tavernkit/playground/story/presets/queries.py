"""Reading presets: rows, and what the library reads each kind as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.base.database.models import Preset, SiteSetting, Space, SpaceMembership
from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import existing
from tavernkit.playground.base.storable import presentable
from tavernkit.playground.story.access.access import is_usable
from tavernkit.reading import ImportReport, LooseObject, ReportBuilder, parse_json
from tavernkit.risuai.files import (
    is_preset_file,
    is_risum,
    read_module_file,
    read_preset_file,
    write_module,
    write_preset_file,
)
from tavernkit.risuai.files.risum import MODULE_TYPE
from tavernkit.risuai.module import Module, read_module
from tavernkit.risuai.settings import RisuSettings, read_settings
from tavernkit.sillytavern.presets import (
    ChatPreset,
    ContextTemplate,
    Instruct,
    MasterExport,
    ReasoningTemplate,
    SillyTavernPreset,
    SystemPrompt,
    TextPreset,
    read_preset,
    write_preset,
)
from tavernkit.sillytavern.presets.fields import decode
from tavernkit.values import Json, JsonObject

Kind: TypeAlias = Literal[
    "chat", "text", "instruct", "context", "system_prompt", "reasoning", "master", "risuai", "module"
]

AnyPreset: TypeAlias = SillyTavernPreset | RisuSettings | Module

RISUAI, MODULE = "risuai", "module"

KINDS: Mapping[str, type[SillyTavernPreset]] = {
    "chat": ChatPreset,
    "text": TextPreset,
    "instruct": Instruct,
    "context": ContextTemplate,
    "system_prompt": SystemPrompt,
    "reasoning": ReasoningTemplate,
    "master": MasterExport,
}


def kind_of(preset: AnyPreset) -> str:
    """The kind under which a preset is stored."""
    if isinstance(preset, RisuSettings):
        return RISUAI
    if isinstance(preset, Module):
        return MODULE
    return next(kind for kind, model in KINDS.items() if isinstance(preset, model))


def decode_preset(kind: str, data: JsonObject) -> tuple[AnyPreset, ImportReport]:
    """A stored preset as the library knows it, and what of it makes no sense."""
    report = ReportBuilder()
    preset: AnyPreset
    match kind:
        case "risuai":
            preset = read_settings(LooseObject(data, report))
        case "module":
            preset = read_module(LooseObject(data, report))
        case _:
            preset = decode(KINDS[kind], data, report)
    return preset, report.build(kind)


def read_file(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """The preset, what was made of its file, and the file unpacked; raises what the library raises."""
    if _is_module(file):
        return _read_module(file)
    if is_preset_file(file):
        return _read_risuai(file)
    document = parse_json(file, what="The preset")
    preset, report = read_preset(file)
    written = write_preset(preset)
    # The fields keep the order of the file, unless the preset was only a part of it.
    return preset, report, document if isinstance(document, dict) and document == written else written


def _is_module(file: bytes) -> bool:
    if is_risum(file) or MODULE_TYPE.encode() not in file:
        return is_risum(file)
    document = parse_json(file, what="The file")
    return isinstance(document, dict) and document.get("type") == MODULE_TYPE


def _read_module(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """A module without the bytes of its assets, which no prompt has."""
    read = read_module_file(file)
    return read.module, read.report, presentable(write_module(read.module))


def _read_risuai(file: bytes) -> tuple[AnyPreset, ImportReport, dict[str, Json]]:
    """Written once more, because that leaves the keys of providers out."""
    settings, report = read_preset_file(file)
    written = parse_json(write_preset_file(settings, "json"), what="The preset")
    return settings, report, presentable(written if isinstance(written, dict) else {})


async def preset_for(session: AsyncSession, viewer: Viewer, preset_id: UUID, *, lock: bool = False) -> Preset:
    """A preset that the person may use."""
    query = select(Preset).where(Preset.id == preset_id, Preset.trashed_at.is_(None), is_usable(Preset, viewer.user_id))
    return existing(await session.scalar(query.with_for_update() if lock else query), _("preset"))


async def original_of(session: AsyncSession, preset: Preset) -> dict[str, Json] | None:
    """The file that the preset was imported from; None for one that was made here, or imported by earlier versions."""
    return await session.scalar(select(Preset.original).where(Preset.id == preset.id))


async def presets_page(
    session: AsyncSession, viewer: Viewer, *, kind: str | None, behind: tuple[str, UUID] | None, limit: int
) -> list[Preset]:
    """The presets that the person can use, by name."""
    query = select(Preset).where(Preset.trashed_at.is_(None), is_usable(Preset, viewer.user_id))
    if kind is not None:
        query = query.where(Preset.kind == kind)
    if behind is not None:
        query = query.where(tuple_(Preset.name, Preset.id) > behind)
    return list(await session.scalars(query.order_by(Preset.name, Preset.id).limit(limit)))


async def is_name_taken(session: AsyncSession, owner_id: UUID | None, kind: str, name: str) -> bool:
    """Whether the owner has a preset of this kind and name."""
    own = (Preset.owner_id == owner_id, Preset.kind == kind, Preset.trashed_at.is_(None))
    found = await session.scalar(select(Preset.id).where(*own, Preset.name == name).limit(1))
    return found is not None


async def free_name(session: AsyncSession, owner_id: UUID | None, kind: str, name: str) -> str:
    """The name, with a number behind it if the owner has a preset of that name already."""
    names = set(
        await session.scalars(
            select(Preset.name).where(
                Preset.owner_id == owner_id,
                Preset.kind == kind,
                Preset.trashed_at.is_(None),
                Preset.name.startswith(name[:190], autoescape=True),
            )
        )
    )
    if name not in names:
        return name
    return next(
        candidate
        for candidate in (f"{name[:190]} ({number})" for number in range(2, len(names) + 3))
        if candidate not in names
    )


async def places_of(session: AsyncSession, preset_id: UUID) -> list[Space]:
    """The spaces that use the preset, themselves or for one of their members."""
    found = await session.scalars(
        select(Space)
        .where(
            or_(
                Space.preset_id == preset_id,
                Space.id.in_(select(SpaceMembership.space_id).where(SpaceMembership.preset_id == preset_id)),
            ),
            Space.status != "deleting",
        )
        .order_by(Space.name, Space.id)
        .limit(100)
    )
    return list(found)


def default_key(user_id: UUID) -> str:
    """Under which key of the settings a person's default preset stands."""
    return f"users.{user_id}.default_preset"


async def default_preset_id(session: AsyncSession, user_id: UUID) -> UUID | None:
    """The preset that the person's new spaces use; None when there is none, or it is gone."""
    setting: SiteSetting | None = await session.get(SiteSetting, default_key(user_id))
    named = None if setting is None else setting.value.get("value")
    if not isinstance(named, str):
        return None
    return await session.scalar(select(Preset.id).where(Preset.id == UUID(named), Preset.trashed_at.is_(None)))
