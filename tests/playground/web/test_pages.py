"""The templates over sample values."""

import re
from html import unescape
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tavernkit.playground.edge import web
from tavernkit.playground.edge.presenting.conversations import OlderView, RunView
from tavernkit.playground.edge.presenting.home import CastChoice, Face, NewStoryView
from tavernkit.playground.edge.web.rendering import render
from tests.playground.web import samples

HOSTILE = '<script>alert("1")</script>'


def test_home_shows_conversations_and_characters() -> None:
    html = render("home.html", view=samples.home())
    assert 'href="/conversations/story"' in html
    assert "Mind the cat" in html
    assert html.count("New story with") == 2
    assert "Branch" in html
    assert 'name="character_id" value="c1"' in html


def test_an_empty_home_says_what_to_do() -> None:
    assert "Choose a character to start one" in render("home.html", view=samples.home(empty=True))
    nobody = samples.home(empty=True).with_(characters=())
    html = render("home.html", view=nobody)
    assert "No characters yet" in html
    assert "Choose a character to start one" not in html


def test_a_conversation_has_every_part_that_streams_change() -> None:
    html = render("conversation.html", view=samples.conversation())
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert {"messages", "run", "composer", "problem", "announcer", "retry_form"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert [int(seq) for seq in re.findall(r'data-seq="(\d+)"', html)] == [1, 2, 3]
    assert 'data-conversation-channel-after-value="7"' in html
    assert "The dead-letter office" in html


def test_older_messages_are_asked_for_only_when_there_are_any() -> None:
    assert 'id="older_' not in render("conversation.html", view=samples.conversation())
    html = render("conversation.html", view=samples.conversation(older_before=41))
    assert 'id="older_41"' in html
    assert 'src="/conversations/story/older?before=41" loading="lazy"' in html


def test_a_page_of_older_messages_leads_on_until_the_first() -> None:
    older = OlderView(conversation_id="story", before=41, messages=samples.STORY, older_before=21)
    html = render("_older.html", older=older)
    assert html.strip().startswith('<turbo-frame id="older_41">')
    assert html.index('id="older_21"') < html.index("<li")
    assert "older_" not in render("_older.html", older=older.with_(older_before=None)).replace("older_41", "")


@pytest.mark.parametrize(
    ("run", "buttons", "sentence"),
    [
        (samples.run("queued"), ["Stop"], "is about to reply"),
        (samples.run("queued", preparing=True), ["Stop"], "Loading the model."),
        (samples.run("running", "Half a"), ["Stop"], "Half a"),
        (samples.run("canceled", "Half a"), ["Retry", "Keep", "Discard"], "The reply was stopped."),
        (samples.run("canceled"), ["Retry", "Discard"], "The reply was stopped."),
        (samples.run("failed", "Half a", "It broke."), ["Retry", "Keep", "Discard"], "It broke."),
        (samples.run("failed"), ["Retry", "Discard"], "The reply failed."),
        (samples.run("failed").with_(can_skip=True), ["Retry", "Skip", "End round"], "The reply failed."),
    ],
)
def test_a_run_says_how_it_stands_and_what_can_be_done(run: RunView, buttons: list[str], sentence: str) -> None:
    html = render("_run.html", run=run)
    assert html.count('id="run"') == 1
    shown = re.findall(r"<button.*?</button>", html, re.DOTALL)
    assert [re.sub(r"<[^>]+>", "", button).strip() for button in shown] == buttons
    assert sentence in html


@pytest.mark.parametrize("picture", ["", "a" * 64])
def test_a_run_has_the_head_that_its_message_will_have(picture: str) -> None:
    message = samples.message(3, "Half a").with_(picture_sha256=picture, initials="OM")
    run = samples.run("running", "Half a").with_(picture_sha256=picture, initials="OM")
    heads = [
        re.findall(r'<(?:img|span) class="message-picture".*?>(?:OM</span>)?|class="message-author">[^<]*', html)
        for html in (render("_message.html", message=message), render("_run.html", run=run))
    ]
    assert len(heads[0]) == 2
    assert heads[0] == heads[1]


def test_without_a_run_its_place_is_kept_and_empty() -> None:
    html = render("_run.html", run=None)
    assert html.count('id="run"') == 1
    assert re.sub(r"<[^>]+>", "", html).strip() == ""


def test_the_text_of_a_run_stands_there_exactly() -> None:
    text = f"  One\n\n{HOSTILE} two "
    html = render("_run.html", run=samples.run("running", text))
    shown = re.search(r'data-typing-target="text">(.*?)</div>', html, re.DOTALL)
    assert shown
    assert unescape(shown[1]) == text


def test_names_and_lines_are_escaped_everywhere() -> None:
    face = Face(name=HOSTILE, initials=HOSTILE, picture=f'"{HOSTILE}')
    character = CastChoice(id="c1", face=face, tagline=HOSTILE)
    card = (
        samples.home()
        .stories[0]
        .with_(title=HOSTILE, space_name=HOSTILE + "x", last_line=HOSTILE, kind=HOSTILE, faces=(face,))
    )
    home = samples.home().with_(characters=(character,), stories=(card,), model_name=HOSTILE, older=HOSTILE)
    choices = NewStoryView(characters=(character,), personas=(character,), name=HOSTILE, error=HOSTILE)
    message = samples.message(1, HOSTILE).with_(author=HOSTILE)
    run = samples.run("failed", HOSTILE, HOSTILE).with_(speaker=HOSTILE)
    conversation = samples.conversation(messages=(message,), run=run).with_(
        title=HOSTILE, space_name=HOSTILE, persona_name=HOSTILE, model_name=HOSTILE
    )
    pages = [
        render("home.html", view=home),
        render("new_story.html", view=choices),
        render("conversation.html", view=conversation),
        render("error.html", status=404, title=HOSTILE, sentence=HOSTILE),
        render("_problem.html", problem=HOSTILE),
    ]
    assert all("<script>alert" not in page for page in pages)


def test_the_embedded_model_is_introduced_and_another_is_named() -> None:
    assert 'href="/models">add a model' in render("conversation.html", view=samples.conversation())
    html = render("conversation.html", view=samples.conversation(embedded=False))
    assert 'href="/models">add a model' not in html
    assert "Using gpt-4o." in html


def test_moments_are_in_utc_for_the_script_and_readable_without() -> None:
    html = render("_message.html", message=samples.message(3, "Hi"))
    assert '<time datetime="2026-10-14T19:45:00+00:00" data-local' in html
    assert "2026-10-14 19:45 UTC" in html


def test_a_value_that_was_forgotten_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("_run.html")


def test_no_template_has_inline_scripts_or_styles() -> None:
    folder = Path(web.__file__).parent / "templates"
    # The report is no page, but a file that is downloaded and has everything inside.
    sources = {file.name: file.read_text() for file in folder.rglob("*.html") if file.name != "report.html"}
    assert len(sources) > 5
    for name, source in sources.items():
        assert not re.search(
            r"<script(?![^>]*\b(?:src=|type=.application/json))|<style|\bstyle=|\bon[a-z]+=", source
        ), name
