"""After the prompt: the reply joins the chat, and messages are shown."""

from __future__ import annotations

from tests.risuai.prompt.builders import CHAT, built, chat, marlow

from tavernkit import Reply
from tavernkit.macros import Variables
from tavernkit.risuai import ReplyCleanup, Story, shown, take_reply
from tavernkit.risuai.regex_script import RisuRegexScript
from tavernkit.risuai.trigger import Trigger

MARKED = ReplyCleanup(thoughts_prefix="<think>", thoughts_suffix="</think>", other_speakers=("Marlow", "Ines"))


def script(kind: str, pattern: str, replacement: str) -> RisuRegexScript:
    return RisuRegexScript(type=kind, pattern=pattern, replacement=replacement)


def chat_of(reply: Reply) -> list[str]:
    return [message.content for message in reply.messages]


def test_a_reply_passes_scripts_variables_and_triggers() -> None:
    counts = Trigger(type="output", effects=({"type": "setvar", "operator": "=", "var": "done", "value": "1"},))
    character = marlow(scripts=(script("editoutput", "loud", "LOUD"),), triggers=(counts,))
    made = built(CHAT, character=character, history=chat("u: Hi"))
    reply = take_reply(made, " A loud reply.{{setvar::mood::calm}} ")
    assert reply.text == "A LOUD reply."
    assert (reply.variables["local"]["mood"], reply.variables["local"]["done"]) == ("calm", "1")
    assert chat_of(reply) == ["Hi", "A LOUD reply."]


def test_a_reply_changes_a_store_that_is_given_and_never_the_build() -> None:
    variables = Variables()
    made = built(CHAT, history=chat("u: Hi"))
    first = take_reply(made, "One.{{setvar::mood::calm}}", variables=variables)
    assert variables.get("mood") == "calm"
    assert (made.result.variables["local"], len(made.result.chat.messages)) == ({}, 1)
    assert take_reply(made, "One.{{setvar::mood::calm}}") == first


def test_a_reply_is_found_when_a_trigger_has_cut_the_chat() -> None:
    cut = Trigger(type="output", effects=({"type": "cutchat", "start": "1", "end": "9"},))
    made = built(CHAT, character=marlow(triggers=(cut,)), history=chat("u: Hi", "a: Ho", "u: And?"))
    reply = take_reply(made, "Well.")
    assert reply.text == "Well."
    assert chat_of(reply) == ["Ho", "And?", "Well."]


def test_a_reply_can_continue_the_last_message() -> None:
    made = built(CHAT, history=chat("u: Hi", "a: Once"), generation_type="continue")
    reply = take_reply(made, " upon a time.")
    assert reply.text == "Once upon a time."
    assert len(reply.messages) == 2
    assert take_reply(made, " more.", continued="Twice").text == "Twice more."
    joined = built(
        CHAT, story=Story(cleanup=ReplyCleanup(joint=" ")), history=chat("a: Once"), generation_type="continue"
    )
    assert take_reply(joined, "upon a time.").text == "Once upon a time."


def test_a_reply_names_the_emotion_that_is_shown_in_it() -> None:
    for screen, text in (("emotion", "Well. {{emotion::sad}}"), ("none", 'Well. <emotion="sad">')):
        made = built(CHAT, character=marlow(view_screen=screen, shows_pictures_in_chat=True), history=chat("u: Hi"))
        assert take_reply(made, 'Well. <emotion="sad">').text == text


def test_cleanup_takes_out_thoughts_labels_and_the_words_of_others() -> None:
    made = built(CHAT, story=Story(cleanup=MARKED), history=chat("u: Hi"))
    reply = take_reply(made, "<think> Hm. </think>Marlow: Well. \nMarlow: Yes.\nInes: No!")
    assert (reply.text, reply.reasoning) == ("Well.\nYes.", "Hm.")
    assert take_reply(made, "Well.\nTess: I go.").text == "Well."
    assert take_reply(made, "<think>x</think>Well. EN", thoughts="Known.", stop=["END"]).reasoning == "Known."
    assert take_reply(made, "Well. EN", stop=["END"]).text == "Well."
    assert take_reply(made, "Well. STOP More.", ends=["STOP"]).text == "Well."


def test_nothing_happens_to_a_reply_of_which_nothing_is_left() -> None:
    counts = Trigger(type="output", effects=({"type": "setvar", "operator": "=", "var": "done", "value": "1"},))
    made = built(CHAT, character=marlow(triggers=(counts,)), story=Story(cleanup=MARKED), history=chat("u: Hi"))
    reply = take_reply(made, "<think>Hm.</think> ")
    assert (reply.text, reply.reasoning, reply.variables["local"]) == ("", "Hm.", {})


def test_without_cleanup_a_reply_is_taken_as_it_comes() -> None:
    assert take_reply(built(CHAT), "Marlow: Well.\nTess: I go.").text == "Marlow: Well.\nTess: I go."


def test_a_message_is_shown_through_its_own_scripts() -> None:
    character = marlow(scripts=(script("editdisplay", "Hi", "Ho"),))
    made = built(CHAT, character=character, history=chat("u: Hi {{char}}"))
    assert made.plan.messages[-1].content == "Hi Marlow"
    assert shown(made, 0).text == "Ho Marlow"
