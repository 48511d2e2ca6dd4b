"""After the prompt: the reply joins the chat, and messages are shown."""

from __future__ import annotations

from tests.risuai.prompt.builders import CHAT, chat, marlow, told

from tavernkit.macros import Variables
from tavernkit.risuai import shown, take_reply
from tavernkit.risuai.regex_script import RegexScript
from tavernkit.risuai.trigger import Trigger


def script(kind: str, pattern: str, replacement: str) -> RegexScript:
    return RegexScript(type=kind, pattern=pattern, replacement=replacement)


def test_a_reply_passes_scripts_variables_and_triggers() -> None:
    counts = Trigger(type="output", effects=({"type": "setvar", "operator": "=", "var": "done", "value": "1"},))
    character = marlow(scripts=(script("editoutput", "loud", "LOUD"),), triggers=(counts,))
    variables = Variables()
    plan = told(CHAT, character=character, history=chat("u: Hi"), variables=variables)
    reply = take_reply(plan.metadata["scene"], " A loud reply.{{setvar::mood::calm}} ")
    assert reply.text == "A LOUD reply."
    assert (variables.get("mood"), variables.get("done")) == ("calm", "1")
    assert [message.data for message in plan.metadata["scene"].chat.messages] == ["Hi", "A LOUD reply."]


def test_a_reply_is_found_when_a_trigger_has_cut_the_chat() -> None:
    cut = Trigger(type="output", effects=({"type": "cutchat", "start": "1", "end": "9"},))
    plan = told(CHAT, character=marlow(triggers=(cut,)), history=chat("u: Hi", "a: Ho", "u: And?"))
    assert take_reply(plan.metadata["scene"], "Well.").text == "Well."
    assert [message.data for message in plan.metadata["scene"].chat.messages] == ["Ho", "And?", "Well."]


def test_a_reply_can_continue_the_last_message() -> None:
    plan = told(CHAT, history=chat("u: Hi", "a: Once"), generation_type="continue")
    assert take_reply(plan.metadata["scene"], " upon a time.", continues=True).text == "Once upon a time."
    assert len(plan.metadata["scene"].chat.messages) == 2


def test_a_reply_names_the_emotion_that_is_shown_in_it() -> None:
    for screen, text in (("emotion", "Well. {{emotion::sad}}"), ("none", 'Well. <emotion="sad">')):
        plan = told(CHAT, character=marlow(view_screen=screen, shows_pictures_in_chat=True), history=chat("u: Hi"))
        assert take_reply(plan.metadata["scene"], 'Well. <emotion="sad">').text == text


def test_a_message_is_shown_through_its_own_scripts() -> None:
    character = marlow(scripts=(script("editdisplay", "Hi", "Ho"),))
    plan = told(CHAT, character=character, history=chat("u: Hi {{char}}"))
    assert plan.messages[-1].content == "Hi Marlow"
    assert shown(plan.metadata["scene"], 0).text == "Ho Marlow"
