"""Messages on the page, and messages that people send and edit, after the regex scripts for them."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tavernkit.playground.base.database.models import Message, ScriptList
from tavernkit.playground.story.messages.service import edit_message, send_message
from tests.playground.prompting.prompt_story import PromptStory, prompt_story, texts
from tests.playground.support.web import browser

pytestmark = pytest.mark.anyio


def script(find: str, replace: str, *, name: str = "s", placement: tuple[int, ...] = (1, 2), **more: Any) -> Any:
    return {"scriptName": name, "findRegex": find, "replaceString": replace, "placement": list(placement), **more}


async def keep(story: PromptStory, *scripts: Any, space: bool = False, risuai: tuple[Any, ...] = ()) -> None:
    """Scripts for all spaces of the owner, or for this one."""
    now = story.runtime.clock()
    owner: dict[str, UUID] = {"space_id": story.space_id} if space else {"owner_id": story.user_id}
    data = {"sillytavern": list(scripts), "risuai": list(risuai)}
    async with story.runtime.database.write() as session:
        session.add(ScriptList(id=story.runtime.ids(), data=data, created_at=now, updated_at=now, **owner))


async def shown(story: PromptStory) -> str:
    async with browser(story.runtime, story.user_id) as client:
        answer = await client.get(f"/conversations/{story.conversation_id}")
    assert answer.status_code == 200
    return answer.text


async def test_display_scripts_change_the_page_and_nothing_that_is_stored(database_url: str, tmp_path: Path) -> None:
    card = {"extensions": {"regex_scripts": [script("/cat/g", "<b>tiger</b>", markdownOnly=True)]}}
    async with prompt_story(database_url, tmp_path, cards={"Ada": card}) as story:
        said = await story.say_as("Ada", "A cat and a dog.")
        await keep(story, script("/dog/g", "wolf", markdownOnly=True))
        await keep(story, script("/wolf/g", "bear for {{user}}", markdownOnly=True), space=True)
        page = await shown(story)
        assert "A <b>tiger</b> and a bear for Robin." in page
        assert (await story.row(Message, said.id)).content == "A cat and a dog."
        assert "A cat and a dog." in texts(await story.prompt("Ada"))
        await story.set(prompt={"regex_scripts": False})
        assert "A cat and a dog." in await shown(story)


async def test_markup_of_scripts_is_made_safe(sqlite_url: str, tmp_path: Path) -> None:
    box = '<div onclick="x()"><details open><summary>Mood</summary>$1</details><script>alert(1)</script></div>'
    async with prompt_story(sqlite_url, tmp_path) as story:
        await story.say_as("Ada", "[mood: glad]")
        await keep(story, script(r"/\[mood: (\w+)\]/", box, markdownOnly=True))
        page = await shown(story)
        assert "<summary" in page
        assert "Mood</summary>glad</details>" in page
        assert "onclick" not in page
        assert "alert(1)" not in page


async def test_depth_counts_from_the_newest_message_that_is_in_prompts(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await keep(
            story,
            script("/x/", "newest", markdownOnly=True, maxDepth=0),
            script("/x/", "older", markdownOnly=True, minDepth=2),
        )
        for text in ("one x", "two x"):
            await story.say_as("Ada", text)
        await story.say_as("Ada", "hidden from prompts x", visibility="excluded")
        for text in ("three x", "four x"):
            await story.say_as("Ada", text)
        page = await shown(story)
        for text in ("one older", "two older", "three x", "four newest"):
            assert f"{text}</p>" in page


async def test_a_bad_script_is_named_beside_the_message_and_the_others_run(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        await story.say_as("Ada", f"A cat. {'a' * 40}!")
        await keep(
            story,
            script("/(cat/g", "no", name="Broken", markdownOnly=True),
            script("/(a+)+$/g", "no", name="Hostile", markdownOnly=True),
            script("/cat/g", "tiger", markdownOnly=True),
        )
        page = await shown(story)
        assert "A tiger." in page
        assert "The regex script &#39;Broken&#39; was not applied." in page
        assert "The regex script &#39;Hostile&#39; was not applied." in page


async def test_reasoning_and_narration_have_placements_of_their_own(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story:
        await story.say_as("Ada", "fog", metadata={"reasoning": "fog"})
        await story.say_as("Robin", "fog", role="system")
        await keep(
            story,
            script("/fog/", "thought", placement=(6,), markdownOnly=True),
            script("/fog/", "told", placement=(3,), markdownOnly=True),
        )
        page = await shown(story)
        assert '<div class="reasoning-text" dir="auto">thought</div>' in page
        assert "told</p>" in page
        assert "fog</p>" in page


async def test_what_is_sent_and_edited_is_stored_after_the_scripts_for_it(database_url: str, tmp_path: Path) -> None:
    async with prompt_story(database_url, tmp_path) as story:
        await keep(
            story,
            script("/teh/g", "the", placement=(1,)),
            script("/cat/g", "tiger", placement=(1, 2), runOnEdit=True),
            script("/fog/g", "mist", placement=(3,)),
        )
        ids = story.runtime.ids
        sent = await send_message(
            story.runtime, story.viewer, story.conversation_id, message_id=ids(), content="teh cat in teh fog"
        )
        assert sent.content == "the tiger in the fog"
        told = await send_message(
            story.runtime, story.viewer, story.conversation_id, message_id=ids(), content="teh fog", role="system"
        )
        assert told.content == "teh mist"
        edited = await edit_message(story.runtime, story.viewer, sent.id, content="teh cat", revision=None)
        assert edited.content == "teh tiger"


async def test_a_message_of_which_scripts_leave_nothing_is_refused_with_a_sentence(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        await keep(story, script("/.*/g", "", placement=(1,)))
        form = {"message_id": str(story.runtime.ids()), "content": "All of it."}
        answer = await client.post(f"/conversations/{story.conversation_id}/messages", data=form)
        assert answer.status_code == 422
        assert "The regex scripts leave nothing of this text." in answer.text


async def test_risuai_shows_messages_after_display_triggers_macros_and_scripts(sqlite_url: str, tmp_path: Path) -> None:
    trigger = {
        "comment": "t",
        "type": "display",
        "conditions": [],
        "effect": [
            {"type": "v2GetDisplayState", "outputVar": "now", "indent": 0},
            {"type": "v2SetVar", "operator": "=", "var": "next", "value": "{{getvar::now}}", "valueType": "value",
             "indent": 0},
            {"type": "v2SetDisplayState", "value": "now", "valueType": "var", "indent": 0},
        ],
    }  # fmt: skip
    own = {
        "customScripts": [
            {"comment": "", "in": "cat", "out": "tiger", "type": "editdisplay", "ableFlag": False},
            {"comment": "", "in": "dog", "out": "wolf", "type": "editinput", "ableFlag": False},
        ],
        "triggerscript": [trigger],
    }
    async with prompt_story(sqlite_url, tmp_path, cards={"Ada": {"extensions": {"risuai": own}}}) as story:
        await story.say_as("Ada", "{{user}} has a cat and an owl.")
        await keep(
            story, risuai=({"comment": "", "in": "owl", "out": "eagle", "type": "editdisplay", "ableFlag": False},)
        )
        assert "Robin has a tiger and an eagle." in await shown(story)
        sent = await send_message(
            story.runtime, story.viewer, story.conversation_id, message_id=story.runtime.ids(), content="A dog."
        )
        assert sent.content == "A wolf."


async def test_a_reply_that_is_being_written_is_shown_through_display_scripts(sqlite_url: str, tmp_path: Path) -> None:
    async with prompt_story(sqlite_url, tmp_path) as story, browser(story.runtime, story.user_id) as client:
        run = await story.plan("Ada")
        story.runtime.live_text[run.id] = "A cat and"
        plain = (await client.get(f"/runs/{run.id}/text")).json()
        assert plain == {"text": "A cat and", "status": "queued"}
        await keep(story, script("/cat/", "<b>tiger</b><script>x</script>", markdownOnly=True, maxDepth=0))
        shown = (await client.get(f"/runs/{run.id}/text")).json()
        assert shown["html"].strip() == '<p dir="auto">A <b>tiger</b> and</p>'
        assert shown["text"] == "A cat and"
