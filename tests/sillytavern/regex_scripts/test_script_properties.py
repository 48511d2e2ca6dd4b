"""What holds for any script: it does what JavaScript itself does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.sillytavern.regex_scripts.builders import expander, script, scripts
from tests.text.javascript import javascript

from tavernkit.sillytavern.regex_scripts import RegexScript, apply_scripts, run_script
from tavernkit.sillytavern.regex_scripts.applying import escape_for_pattern, find_pattern
from tavernkit.text.js_regex import JsRegex

FIND = st.lists(
    st.sampled_from(
        ["/", "a", "b", ".", "(a)", "(b)?", "(?<n>b)", "\\", "g", "i", "u", "x", "y", "|", "\n", "🙂", " "]
    ),
    max_size=6,
).map("".join)
SLASHED = st.tuples(FIND, st.sampled_from(["", "g", "gi", "gu", "gg", "U"])).map(lambda pair: f"/{pair[0]}/{pair[1]}")
REPLACE = st.lists(st.sampled_from(["$0", "$1", "$2", "$3", "$12", "$<n>", "{{match}}", "$", "x", "🙂"]), max_size=4)
TEXTS = st.text("abAB/x \n🙂\ud83d", max_size=10)

READ = r"""(find => {
  const found = /(\/?)(.+)\1([a-z]*)/i.exec(find);
  if (!found) return null;
  const strange = /[^gmixXsuUAJ]/.test(found[3]) || new Set(found[3]).size < found[3].length;
  try {
    const regex = strange ? new RegExp(find) : new RegExp(found[2], found[3]);
    return [regex.source, regex.flags];
  } catch {
    return null;
  }
})(x)"""

RUN = r"""(([source, flags, replace, text]) => text.replace(new RegExp(source, flags), (...given) => {
  const named = typeof given[given.length - 1] === "object" ? given.pop() : {};
  return replace.replace(/{{match}}/gi, "$$0").replace(/\$(?:(\d+)|<([^>]+)>)/g,
    (_, number, name) => (name === undefined ? given[number * 1] : named[name]) || "");
}))(x)"""


@given(FIND | SLASHED)
def test_a_find_field_is_read_as_there(find: str) -> None:
    pattern = find_pattern(find)
    expected = javascript(READ, find)
    if expected is None:
        assert isinstance(pattern, str)
    else:
        assert isinstance(pattern, JsRegex)
        assert (
            javascript("(r => [r.source, r.flags])(new RegExp(x[0], x[1]))", [pattern.source, pattern.flags])
            == expected
        )


@given(FIND | SLASHED, REPLACE.map("".join), TEXTS.filter(bool))
def test_a_script_replaces_as_javascript_does(find: str, replace: str, text: str) -> None:
    pattern = find_pattern(find)
    result = run_script(script(find, replace), text, expand=expander())
    if isinstance(pattern, JsRegex):
        assert result == javascript(RUN, [pattern.source, pattern.flags, replace, text])
    else:
        assert result == text


@given(st.text("ab.*(){}[]\\/|^$+?\n\r\t\v\f\0🙂", max_size=12))
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    pattern = JsRegex(source=f"^{escape_for_pattern(text)}$", flags="")
    assert pattern.test(text)
    assert not pattern.test(text + "x")


SCRIPTS = st.lists(
    st.builds(
        lambda find, replace, mode: script(find, "".join(replace), substituteRegex=mode),
        FIND | SLASHED,
        REPLACE,
        st.integers(0, 2),
    ),
    max_size=5,
)


@given(SCRIPTS, TEXTS)
def test_many_scripts_do_what_each_would_do_in_turn(listed: list[RegexScript], text: str) -> None:
    expected = text
    for one in listed:
        expected = run_script(one, expected, expand=expander())
    assert apply_scripts(text, scripts(*listed), 2, expand=expander()) == expected
