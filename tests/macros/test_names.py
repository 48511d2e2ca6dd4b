import pytest
from hypothesis import given
from hypothesis import strategies as st

from tavernkit import NameEnvironment, NameMacros, Variables

VARIABLES = Variables()
ENVIRONMENT = NameEnvironment(character_name="Mira {{user}}", user_name="Robin", variables=VARIABLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}} and {{User}}", "Robin and Robin"),
        ("<USER>, <bot>, <Char>", "Robin, Mira {{user}}, Mira {{user}}"),
        ("{{char}}", "Mira {{user}}"),
        ("{{ char }} {{charname}} {{roll}}", "{{ char }} {{charname}} {{roll}}"),
    ],
)
def test_names_are_put_in_once_and_nothing_else_is_touched(text: str, expected: str) -> None:
    assert NameMacros().expand(text, ENVIRONMENT) == expected


@given(st.text(alphabet="abc {}:"))
def test_text_without_a_name_macro_is_left_alone(text: str) -> None:
    assert NameMacros().expand(text, ENVIRONMENT) == text


def test_the_environment_reads_and_writes_variables() -> None:
    ENVIRONMENT.set_var("a", 1)
    assert (ENVIRONMENT.get_var("a"), ENVIRONMENT.has_var("a"), ENVIRONMENT.has_var("a", "global")) == (1, True, False)
