"""Macros of one's own: for one engine, and for all of them through load hooks."""

from __future__ import annotations

import pytest

from tavernkit import on_load
from tavernkit.sillytavern.macros import (
    Alias,
    Environment,
    MacroArgument,
    MacroDefinitions,
    MacroFailure,
    ParserMacros,
    shared_registry,
)

TEXT = MacroArgument(name="text")


def shout(expansion, text):
    return f"{text.upper()} {expansion.environment.user_name}!"


def expand(engine, text):
    return engine.expand(text, Environment(user_name="Zed"))


def test_a_macro_belongs_to_the_engine_it_was_registered_with():
    engine, other = ParserMacros("1.19"), ParserMacros("1.19")
    engine.registry.register("shout", shout, arguments=(TEXT,))
    assert expand(engine, "{{shout::hi}}") == "HI Zed!"
    assert expand(engine, "{{SHOUT}}hi{{/shout}}") == "HI Zed!"
    assert expand(other, "{{shout::hi}}") == "{{shout::hi}}"


def test_a_macro_may_take_the_place_of_a_built_in_one_also_in_texts_seen_before():
    engine = ParserMacros("1.19")
    assert expand(engine, "{{user}}") == "Zed"
    engine.registry.register("user", lambda _: "somebody")
    assert expand(engine, "{{user}}") == "somebody"


def test_arguments_are_checked_by_what_was_declared():
    engine = ParserMacros("1.15")
    engine.registry.register(
        "times",
        lambda _, text, count="2": text * int(count),
        arguments=(TEXT, MacroArgument(name="count", types=("integer",), optional=True)),
        aliases=(Alias(name="x"),),
    )
    assert expand(engine, "{{times::a}} {{x::a::3}} {{times::a::b}} {{times}}") == "aa aaa {{times::a::b}} {{times}}"


def test_a_macro_that_fails_leaves_its_call_as_text():
    def fail(_):
        raise MacroFailure("cannot")

    engine = ParserMacros("1.19")
    engine.registry.register("fail", fail)
    assert expand(engine, "a {{fail}}") == "a {{fail}}"


def test_a_delayed_macro_decides_what_is_expanded():
    engine = ParserMacros("1.19")
    engine.registry.register(
        "twice", lambda expansion, text: expansion.resolve(text, 0) * 2 + text, arguments=(TEXT,), delayed=True
    )
    assert expand(engine, "{{twice::{{user}}}}") == "ZedZed{{user}}"


def test_load_hooks_add_to_the_registries_that_all_engines_share():
    engine = ParserMacros("1.15")
    assert expand(engine, "{{tests-hooked}}") == "{{tests-hooked}}"
    on_load(
        "sillytavern.macros",
        lambda registries: registries["1.15"].register("tests-hooked", lambda _: "here"),
        id="tests-hooked",
    )
    assert expand(engine, "{{tests-hooked}}") == "here"
    assert shared_registry("1.15").has("tests-hooked")
    assert not shared_registry("1.19").has("tests-hooked")


def test_a_name_that_no_call_could_have_is_refused():
    with pytest.raises(ValueError, match="cannot be the name of a macro"):
        MacroDefinitions().register("two words", lambda _: "")


def test_a_registry_lists_every_macro_once():
    parent = MacroDefinitions()
    parent.register("a", lambda _: "")
    child = MacroDefinitions(parent)
    child.register("A", lambda _: "")
    assert [definition.name for definition in child] == ["A"]
    assert child.has("a")
