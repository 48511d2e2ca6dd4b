"""The errors of both platforms hang below the one root, and say where things went wrong."""

from tavernkit import errors
from tavernkit.risuai import errors as risuai
from tavernkit.sillytavern import errors as sillytavern


def test_everything_is_a_tavernkit_error() -> None:
    for module in (sillytavern, risuai):
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
        assert own
        for each in own:
            assert issubclass(each, errors.TavernKitError)
            assert each.__name__ in (module.__doc__ or "")


def test_sillytaverns_lore_errors_are_lore_errors() -> None:
    assert issubclass(sillytavern.LoreParseError, errors.LoreParseError)


def test_a_macro_error_names_the_macro_and_the_place() -> None:
    error = sillytavern.UnknownMacroError("No macro is named 'foo'.", macro_name="foo", position=4)
    assert isinstance(error, sillytavern.MacroError)
    assert (str(error), error.macro_name, error.position) == ("No macro is named 'foo'.", "foo", 4)


def test_a_cbs_error_names_the_block_and_the_place() -> None:
    error = risuai.CBSSyntaxError("The block is never closed.", position=7, block_type="#when")
    assert isinstance(error, risuai.CBSError)
    assert (error.position, error.block_type) == (7, "#when")


def test_a_trigger_error_names_the_trigger_and_the_effect() -> None:
    error = risuai.TriggerRecursionError("Too deep.", trigger_type="start", effect_type="runtrigger")
    assert isinstance(error, risuai.TriggerError)
    assert (error.trigger_type, error.effect_type) == ("start", "runtrigger")
