"""The table as a whole: every name that RisuAI's own has, and functions that survive whatever they are given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit.risuai.cbs import CBSCall, CBSOptions, Functions, LeftAsText, ParseReturn
from tavernkit.risuai.cbs.functions import BUILTIN

from .scenes import KEEPER, a_scene, says

TABLE = Functions(BUILTIN).table

NAMES = """
char bot user trigger_id previouscharchat lastcharmessage previoususerchat lastusermessage personality charpersona
description chardesc scenario exampledialogue examplemessage persona userpersona mainprompt systemprompt jb jailbreak
globalnote systemnote ujb lorebook worldinfo userhistory usermessages charhistory charmessages history messages
chatindex firstmsgindex firstmessageindex lastmessageid lastmessageindex lastmessage previouschatlog messagetime
messagedate messageunixtimearray unixtime isotime isodate time date datetimeformat messageidleduration idleduration
br newline blank none hiddenkey cbr cnl cnewline model axmodel maxcontext jbtoggled role isfirstmsg isfirstmessage
tempvar gettempvar settempvar return getvar setvar addvar setdefaultvar getglobalvar calc button risu tex latex katex
ruby furigana codeblock comment file equal notequal greater less greaterequal lessequal and or not all any startswith
endswith contains replace split join spread trim length lower upper capitalize reverse round floor ceil abs remaind
pow fixnum fixnumber min max sum average tonumber arraylength arrayelement arrayshift arraypop arraypush arraysplice
arrayassert makearray array a range filter dictelement objectelement objectassert dictassert makedict dict d
makeobject object o element ele emotionlist assetlist chardisplayasset moduleassetlist moduleenabled prefillsupported
prefill screenwidth screenheight decbo decbc bo ddecbo bc ddecbc debo debc deabo deabc dec ( ) < > ; unicodeencode
unicodedecode u ue unicodedecodefromhex unicodeencodefromhex fromhex tohex hash random pick randint dice roll rollp
rollpick xor xorencrypt xorencode xore xordecrypt xordecode xord crypt crypto caesar encrypt decrypt metadata iserror
"""

ARGUMENTS = st.lists(
    st.sampled_from(["", "0", "1", "-1", "2.5", "1e400", "NaN", "null", "[]", '["a",1,null]', '{"k":0}', "x§y", "2d6"])
    | st.text(st.characters(codec=None, categories=None), max_size=8),
    max_size=4,
)


@pytest.mark.parametrize("name", NAMES.split())
def test_every_name_of_the_table_is_known(name: str) -> None:
    assert Functions(BUILTIN).has(name)


@pytest.mark.parametrize(
    "name", ["asset", "emotion", "bg", "image", "raw", "inlay", "source", "slot", "position", "__"]
)
def test_what_only_the_page_resolves_stays_in_the_text(name: str) -> None:
    assert says(f"<<{{{{{name}::x}}}}>>") == f"<<{{{{{name}::x}}}}>>"


@given(st.sampled_from(sorted(TABLE)), ARGUMENTS, st.booleans(), st.integers(-3, 4), st.booleans())
def test_a_function_answers_with_a_text_or_leaves_the_macro(
    name: str, arguments: list[str], has_character: bool, chat_index: int, runs: bool
) -> None:
    call = CBSCall(
        text="::".join([name, *arguments]),
        arguments=arguments,
        scene=a_scene(character=KEEPER if has_character else None),
        options=CBSOptions(chat_index=chat_index, runs_variables=runs),
        temporary={},
        parse=lambda text: text,
    )
    try:
        answer = TABLE[name](call)
    except (LeftAsText, ParseReturn):
        return
    assert answer is None or isinstance(answer, str)


@pytest.mark.parametrize(
    "macro",
    [
        "{{dice::1e9d6}}",
        "{{roll::1e9d6}}",
        "{{rollp::1e9d6}}",
        "{{dice::Infinityd6}}",
        "{{range::[1e9]}}",
        "{{range::[0,1,0]}}",
        "{{range::[0,1,-1]}}",
        "{{cbr::1e9}}",
        '{{arrayassert::["a"]::4294967294::b}}',
        "{{objectassert::[]::4294967294::b}}",
        "{{objectassert::[]::length::1e9}}",
    ],
)
def test_what_would_take_too_much_stays_in_the_text(macro: str) -> None:
    assert says(macro) == macro


@pytest.mark.parametrize("replacement", ["$`", "$'", "$&" * 5_000, "x" * 5_000])
def test_a_replacement_that_would_grow_too_large_stays_in_the_text(replacement: str) -> None:
    macro = f"{{{{replace::{'a' * 5_000}::::{replacement}}}}}"
    assert says(macro) == macro


def test_a_long_row_of_digits_that_is_no_number_is_read_at_once() -> None:
    assert says(f"{{{{round::{'1' * 200_000}x}}}}") == "NaN"


def test_json_that_is_nested_without_end_is_a_text() -> None:
    assert says("{{arraylength::" + "[" * 5_000 + "]" * 5_000 + "}}") == "1"
