"""What single effects do, in the cases where JavaScript has ideas of its own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.risuai.triggers.builders import effect, run, scene, set_, trigger

from tavernkit.risuai.errors import TriggerError
from tavernkit.risuai.triggers import TriggerOutcome, run_triggers


def answer(type: str, **fields: Any) -> Any:
    """What an effect writes to its output."""
    return run(effect(type, outputVar="out", **fields), variables=VARIABLES).variables["out"]


VARIABLES = {"list": '["a","b","c"]', "dict": '{"k":"v","10":1,"2":0}', "bad": "not json", "word": '"wörd"'}


@pytest.mark.parametrize(
    ("operator", "value", "result"),
    [
        ("+=", "2", "7"),
        ("/=", "0", "Infinity"),
        ("%=", "3", "2"),
        ("%=", "0", "NaN"),
        ("*=", "x", "NaN"),
        ("?", "1", ""),
    ],
)
def test_arithmetic(operator: str, value: str, result: str) -> None:
    assert run(set_("n", value, operator), variables={"n": "5"}).variables == {"n": result}


def test_what_is_no_number_counts_as_zero_when_it_is_added_to() -> None:
    assert run(set_("n", "2", "+="), variables={"n": "Harbor"}).variables == {"n": "2"}


@pytest.mark.parametrize(
    ("type", "fields", "result"),
    [
        ("GetArrayVar", {"var": "list", "index": "2"}, "c"),
        ("GetArrayVar", {"var": "list", "index": "-1"}, "null"),
        ("GetArrayVar", {"var": "word", "index": "1"}, "ö"),
        ("GetArrayVarLength", {"var": "word"}, "4"),
        ("GetArrayVarLength", {"var": "bad"}, "0"),
        ("GetIndexOfValueInArrayVar", {"var": "list", "value": "b"}, "1"),
        ("SliceArrayVar", {"var": "list", "start": "0", "end": "-1"}, '["a","b"]'),
        ("JoinArrayVar", {"var": "[1,null,[2,3]]", "delimiter": "-"}, "1--2,3"),
        ("GetDictKeys", {"var": "dict", "varType": "var"}, '["2","10","k"]'),
        ("GetDictValues", {"var": "dict", "varType": "var"}, '[0,1,"v"]'),
        ("GetDictVar", {"var": "dict", "varType": "var", "key": "10"}, 1),
        ("HasDictKey", {"var": "[1]", "key": "length"}, "1"),
        ("GetDictSize", {"var": '"ab"'}, "2"),
        ("GetDictSize", {"var": "null"}, "0"),
        ("GetCharAt", {"source": "a😀", "index": "2"}, "\ude00"),
        ("SetCharAt", {"source": "a😀c", "index": "1", "value": "b"}, "abc"),
        ("SetCharAt", {"source": "abc", "index": "9", "value": "Z"}, "abcZ"),
        ("SetCharAt", {"source": "abc", "index": "-1", "value": "Z"}, "abc"),
        ("GetCharCount", {"source": "😀"}, "2"),
        ("SplitString", {"source": "ab", "delimiter": ""}, '["a","b"]'),
        ("SplitString", {"source": "a1b", "delimiter": "/\\d/g", "delimiterType": "regex"}, '["a","b"]'),
        ("SplitString", {"source": "a1b", "delimiter": "(", "delimiterType": "regex"}, '["a1b"]'),
        ("RegexTest", {"value": "AB", "regex": "b", "flags": "i"}, "1"),
        ("RegexTest", {"value": "AB", "regex": "(", "flags": ""}, "0"),
        (
            "ExtractRegex",
            {"value": "id=77", "regex": "(\\w+)=(\\d+)", "flags": "", "result": "$2 $& $$ $9"},
            "77 id=77 $ ",
        ),
        ("ExtractRegex", {"value": "id", "regex": "z", "flags": "", "result": "[$1]$&"}, "[]"),
        ("Calculate", {"expression": "$n+2*3"}, "6"),
        ("Calculate", {"expression": "("}, "0"),
        ("Random", {"min": "1", "max": "10"}, "6"),
        ("Random", {"min": "x", "max": "10"}, "NaN"),
        ("QuickSearchChat", {"value": "THREE", "condition": "loose", "depth": "1"}, "1"),
        ("QuickSearchChat", {"value": "one", "condition": "strict", "depth": "0"}, "1"),
        ("QuickSearchChat", {"value": "one", "condition": "strict", "depth": "x"}, "0"),
        ("GetMessageAtIndex", {"index": "7"}, "null"),
        ("GetFirstMessage", {}, "Welcome, {{user}}"),
    ],
)
def test_answers(type: str, fields: dict[str, Any], result: Any) -> None:
    assert answer(type, **fields) == result


@pytest.mark.parametrize(
    ("result", "replaced"),
    [("$2$1", "1a2b"), ("<$&>", "<a1><b2>"), ("$0", "XX"), ("$2", "aXbX"), ("$7", ""), ("$$", "$$")],
)
def test_replacing_by_pattern(result: str, replaced: str) -> None:
    given = {"source": "a1b2", "regex": "([a-z])(\\d)", "flags": "g", "result": result, "replacement": "X"}
    assert answer("ReplaceString", **given) == replaced


@pytest.mark.parametrize(
    ("type", "fields", "name", "result"),
    [
        ("PushArrayVar", {"var": "bad", "value": "x"}, "bad", "[]"),
        ("UnshiftArrayVar", {"var": "list", "value": "x"}, "list", '["x","a","b","c"]'),
        ("SpliceArrayVar", {"var": "list", "start": "-1", "item": "x"}, "list", '["a","b","x","c"]'),
        ("RemoveIndexFromArrayVar", {"var": "list", "index": "9"}, "list", '["a","b","c"]'),
        ("SetArrayVar", {"var": "list", "index": "4", "value": "x"}, "list", '["a","b","c",null,"x"]'),
        ("SetDictVar", {"var": "bad", "varType": "var", "key": "k", "value": "x"}, "bad", '{"k":"x"}'),
        ("DeleteDictKey", {"var": "dict", "varType": "var", "key": "k"}, "dict", '{"2":0,"10":1}'),
        ("ClearDict", {"var": "dict"}, "dict", "{}"),
    ],
)
def test_changes(type: str, fields: dict[str, Any], name: str, result: str) -> None:
    assert run(effect(type, **fields), variables=VARIABLES).variables == {name: result}


def test_messages_are_changed_in_the_result_and_not_in_the_scene() -> None:
    story = scene(
        trigger(
            effect("ModifyChat", index="1", value="new {{user}}"),
            effect("Impersonate", role="char", value="four"),
            effect("CutChat", start="1", end="x"),
            effect("SystemPrompt", location="promptend", value="Be brief."),
        )
    )
    result = run_triggers(story, "start")
    assert [message.data for message in result.messages] == ["new Tess", "three", "four"]
    assert [message.data for message in story.chat.messages] == ["one", "two", "three"]
    assert result.prompts.promptend == "Be brief.\n\n"
    assert result.tokens > 0


def test_the_lorebook_is_changed_in_the_scene() -> None:
    story = scene(
        trigger(
            effect("CreateLorebook", name="Lamp", key="lamp", content="Oil.", insertOrder="7"),
            effect(
                "ModifyLorebookByIndex", index="0", name="{{slot}}!", key="k", content="$&{{slot}}", insertOrder="x"
            ),
            {"type": "v2SetLorebookAlwaysActive", "index": "0", "indexType": "value", "value": True, "indent": 0},
            effect("GetLorebookByName", name="LAMP", outputVar="found"),
        )
    )
    result = run_triggers(story, "start")
    assert story.character is not None
    (entry,) = story.character.lore
    assert (entry.comment, entry.key, entry.content, entry.insert_order) == ("Lamp!", "k", "$&Oil.", 7)
    assert entry.always_active
    assert result.variables == {"found": "[0]"}


def test_the_descriptions_are_changed_in_the_scene() -> None:
    story = scene(
        trigger(
            effect("SetCharacterDesc", value="old sailor"),
            effect("SetPersonaDesc", value="map maker"),
            effect("SetReplaceGlobalNote", value="note"),
            effect("SetAuthorNote", value="for {{user}}"),
        )
    )
    assert run_triggers(story, "start").note == "for Tess"
    assert story.character is not None
    assert (story.character.description, story.persona) == ("old sailor", "map maker")
    assert (story.character.replace_global_note, story.chat.note) == ("note", "for Tess")


def test_an_effect_that_throws_ends_the_run_and_leaves_the_messages() -> None:
    bad = effect("ExtractRegex", value="x", regex="(", flags="", result="", outputVar="out")
    story = scene(trigger(set_("before", "1"), effect("CutChat", start="0", end="0"), bad, set_("after", "1")))
    result = run_triggers(story, "start")
    assert result.outcome is TriggerOutcome.FAILED
    assert result.variables == {"before": "1"}
    assert len(result.messages) == 3
    assert result.warnings[0].where == {"trigger": "start", "effect": "v2ExtractRegex"}


@pytest.mark.parametrize(
    "incomplete",
    [
        {"type": "setvar", "operator": "=", "var": "n"},
        {"type": "v2GetMessageCount"},
        effect("ConcatString", source1="a", outputVar="out"),
        effect("PopArrayVar", outputVar="out"),
        effect("MakeDictVar"),
    ],
)
def test_an_effect_that_lacks_a_field_fails(incomplete: dict[str, Any]) -> None:
    result = run(incomplete, set_("after", "1"))
    assert result.outcome is TriggerOutcome.FAILED
    assert result.variables == {}
    assert "A field that it needs is missing." in result.warnings[0].message


def test_an_effect_with_an_answer_for_all_that_fails_gives_it_where_a_field_is_missing() -> None:
    assert answer("GetArrayVar", var="list") == "null"
    assert answer("RegexTest", regex="a", flags="") == "0"
    assert answer("Calculate") == "0"


def test_a_condition_that_lacks_its_value_fails() -> None:
    condition = {"type": "var", "var": "n", "operator": "="}
    result = run_triggers(scene(trigger(set_("a", "1"), conditions=[condition])), "start")
    assert result.outcome is TriggerOutcome.FAILED


def test_an_item_is_taken_from_the_array_that_was_named_before_it_was_written_down() -> None:
    result = run(
        effect("PopArrayVar", var="{{getvar::which}}", outputVar="which"),
        variables={"which": "list", "list": '["a","b"]'},
    )
    assert result.variables == {"which": "b", "list": '["a"]'}


def test_a_variable_of_the_chat_goes_before_that_of_a_display_whatever_it_holds() -> None:
    shown = effect("SetDisplayState", value="n", valueType="var")

    def displayed(**variables: str) -> str | None:
        return run(shown, variables=variables, display_data="text", temporary={"n": "9"}).display_data

    assert displayed() == "9"
    assert displayed(n="null") == "null"


def test_a_strict_run_says_what_failed() -> None:
    bad = effect("ExtractRegex", value="x", regex="(", flags="", result="", outputVar="out")
    with pytest.raises(TriggerError, match="is not a regular expression") as caught:
        run(bad, strict=True)
    assert (caught.value.trigger_type, caught.value.effect_type) == ("start", "v2ExtractRegex")


@pytest.mark.parametrize("name", ["[x]"])
def test_a_list_is_no_name_for_an_array(name: str) -> None:
    assert run(effect("MakeArrayVar", var=name)).outcome is TriggerOutcome.RETURNED


def test_an_unknown_effect_is_passed_over_with_a_warning() -> None:
    result = run({"type": "v9Dance"}, set_("a", "1"))
    assert result.variables == {"a": "1"}
    assert [warning.code for warning in result.warnings] == ["trigger_effect_unknown"]
