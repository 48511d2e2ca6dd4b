"""Whatever somebody has made here is the same after export and import, and whatever a folder holds has the same bytes
after import and export."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tavernkit.playground.base.accounts.viewer import Viewer
from tavernkit.playground.story.characters.service import create_character
from tavernkit.playground.story.lorebooks.documents import NewLink, NewLorebook
from tavernkit.playground.story.lorebooks.links import attach_lorebook
from tavernkit.playground.story.lorebooks.service import add_entry, create_lorebook
from tavernkit.playground.story.messages.service import add_swipe, send_message
from tavernkit.playground.story.migration.report import report_lines
from tavernkit.playground.story.paths.variables import set_global
from tavernkit.playground.story.personas.documents import NewPersona
from tavernkit.playground.story.personas.service import create_persona, set_picture
from tavernkit.playground.story.presets.documents import NewPreset
from tavernkit.playground.story.presets.service import create_preset
from tavernkit.playground.story.spaces.service import create_space
from tests.playground.characters.builders import picture, somebody_else
from tests.playground.migration.exported import export, imported
from tests.playground.migration.owned import owned
from tests.playground.migration.support import write_folder
from tests.playground.stories import Story, open_story
from tests.playground.support.databases import shared_story_url
from tests.strategies import json_objects, texts, unknown

pytestmark = pytest.mark.slow

# Each of them exports and imports everything of a person.
EXAMPLES = max(3, settings.default.max_examples // 5)


class Place(NamedTuple):
    """An application for all examples of a test, each of which is somebody else's, in a folder of its own."""

    story: Story
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    folders: Iterator[Path]


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("properties")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        story = runner.run(stack.enter_async_context(open_story(shared_story_url(request, "sqlite", folder), folder)))
        yield Place(story, runner.run, (folder / str(number) for number in count()))
        runner.run(stack.aclose())


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
names = st.text("abcdefgh XYZ", min_size=1, max_size=8).filter(lambda name: name == name.strip() != "")


class Made(NamedTuple):
    """What somebody makes: characters with their stories, each a list of messages, which are lists of versions; books
    with their entries and for whom they are; and so on."""

    characters: list[tuple[str, str, list[str], list[list[str]]]]
    books: list[tuple[str, list[tuple[str, str, int]], int]]
    personas: list[tuple[str, str, int]]
    presets: list[tuple[str, str]]
    variables: dict[str, str]


tellings = st.lists(st.lists(words.filter(str.strip), min_size=1, max_size=3), max_size=3)
book_entries = st.lists(st.tuples(words, words, st.integers(0, 200)), max_size=2)
preset_kinds = st.sampled_from(["chat", "instruct", "context", "system_prompt"])
made = st.builds(
    Made,
    st.lists(st.tuples(names, words, st.lists(words, max_size=2), tellings), min_size=1, max_size=3),
    st.lists(st.tuples(names, book_entries, st.integers(-2, 2)), max_size=3, unique_by=lambda book: book[0].casefold()),
    st.lists(st.tuples(names, words, st.integers(0, 9)), max_size=2),
    st.lists(st.tuples(names, preset_kinds), max_size=3, unique_by=lambda preset: preset[0].casefold()),
    st.dictionaries(names, words, max_size=2),
)


async def make(story: Story, viewer: Viewer, things: Made) -> None:
    runtime, ids = story.runtime, []
    for name, description, greetings, told in things.characters:
        fields = {"name": name, "description": description, "first_mes": "Hi.", "alternate_greetings": greetings}
        ids.append((await create_character(runtime, viewer, fields)).id)
        chat = (await create_space(runtime, viewer, character_ids=[ids[-1]])).conversation.id
        for first, *others in told:
            message = uuid4()
            await send_message(runtime, viewer, chat, message_id=message, content=first, role="system")
            for other in others:
                await add_swipe(runtime, viewer, message, swipe_id=uuid4(), content=other)
    for name, entries, whose in things.books:
        book = await create_lorebook(runtime, viewer, NewLorebook(name=name))
        for key, content, order in entries:
            await add_entry(runtime, viewer, book.id, {"key": [key], "content": content, "order": order})
        if whose == -1:
            await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, user_id=viewer.user_id))
        elif 0 <= whose < len(ids):
            await attach_lorebook(runtime, viewer, NewLink(lorebook_id=book.id, character_id=ids[whose]))
    for name, description, depth in things.personas:
        new = NewPersona(name=name, description=description, position="at_depth", depth=depth)
        persona = await create_persona(runtime, viewer, new)
        # SillyTavern knows a persona by its picture, so that one without gets one on its way out.
        await set_picture(runtime, viewer, persona.id, picture("blue"), settings_version=0)
    for name, kind in things.presets:
        await create_preset(runtime, viewer, NewPreset.model_validate({"name": name, "kind": kind}))
    for key, value in things.variables.items():
        await set_global(runtime, viewer, key, value)


async def exported_and_imported(story: Story, folder: Path, things: Made) -> None:
    one, other = await somebody_else(story), await somebody_else(story)
    await make(story, one, things)
    written = await export(story, folder / "out", one)
    await imported(story, written.place, other)
    mine, theirs = await owned(story, one), await owned(story, other)
    assert theirs == mine
    again = await export(story, folder / "again", other)
    assert {path: again.read(path) for path in again.files} == {path: written.read(path) for path in written.files}


@given(things=made)
@settings(max_examples=EXAMPLES)
def test_importing_what_was_exported_is_the_identity_on_what_somebody_has(place: Place, things: Made) -> None:
    place.run(exported_and_imported(place.story, next(place.folders), things))


@st.composite
def spelt(draw: Any, values: st.SearchStrategy[Any]) -> bytes:
    """JSON in one of the spellings that programs and people give it."""
    value, indent, ends = (
        draw(values),
        draw(st.sampled_from([None, 1, 4, "\t"])),
        draw(st.sampled_from(["", "\n", "\r\n"])),
    )
    text = json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=draw(st.booleans())) + ends
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    try:
        return mark + text.encode()
    except UnicodeEncodeError:
        return mark + (json.dumps(value, indent=indent) + ends).encode()


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(unknown, st.fixed_dictionaries(fields)).map(lambda both: {**both[0], **both[1]})


entries = st.lists(objects(key=st.lists(texts, max_size=2), content=texts, order=st.integers(0, 200)), max_size=2)
books = objects(entries=entries.map(lambda found: {str(uid): {"uid": uid, **one} for uid, one in enumerate(found)}))
messages = objects(name=st.sampled_from(["Sam", "Anna"]), is_user=st.booleans(), mes=texts, extra=json_objects)
chats = st.tuples(objects(chat_metadata=json_objects), st.lists(messages, min_size=1, max_size=4))


@st.composite
def chat_files(draw: Any) -> bytes:
    header, told = draw(chats)
    records = [{"user_name": "Sam", "character_name": "Anna", **header}, *told]
    return draw(st.sampled_from([b"\n", b"\r\n"])).join(json.dumps(record).encode() for record in records)


folders = st.fixed_dictionaries(
    {"chats/Anna/one.jsonl": chat_files()},
    optional={
        "chats/Anna/two.jsonl": chat_files(),
        "chats/Anna/cut.jsonl": chat_files().map(lambda data: data[:-9]),
        "worlds/Sea.json": spelt(books),
        "worlds/sea.json": spelt(books),
        "sysprompt/Calm.json": spelt(objects(name=st.just("Calm"), content=texts)),
        "instruct/Calm.json": spelt(objects(name=st.just("Calm"), input_sequence=texts, output_sequence=texts)),
        "OpenAI Settings/Calm.json": spelt(objects(temperature=st.floats(0, 2), prompts=st.just([]))),
        "QuickReplies/Moves.json": spelt(objects(version=st.just(2), name=st.just("Moves"), qrList=st.just([]))),
        "themes/Dark.json": spelt(json_objects),
        "settings.json": spelt(objects(power_user=unknown, tags=st.just([]))),
    },
)


async def imported_and_exported(story: Story, folder: Path, files: Mapping[str, bytes]) -> None:
    somebody = await somebody_else(story)
    row = await imported(story, write_folder(folder / "data", files), somebody)
    report = {line.path: line async for line in report_lines(story.runtime, somebody, row.id)}
    assert report.keys() == files.keys()
    written = await export(story, folder / "out", somebody)
    for path, data in files.items():
        line = report[path]
        if line.verdict != "refused":
            assert written.read(path) == data, (path, line.verdict, line.notes, written.notes(path))
    assert written.files - files.keys() <= {"characters/Anna.png", "settings.json"}


@given(files=folders)
@settings(max_examples=EXAMPLES)
def test_v02_exporting_what_was_imported_is_the_identity_on_bytes(place: Place, files: Mapping[str, bytes]) -> None:
    place.run(imported_and_exported(place.story, next(place.folders), files))
