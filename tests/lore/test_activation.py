"""Why an entry is activated, for engines that do not say so themselves."""

from tavernkit.lore.activation import activation_parts
from tavernkit.lore.book import Book, Entry
from tavernkit.lore.engine import LoreResult, ScanInput

ICE = Entry(id="ice", keys=("", "frost", "Ice"), content="The harbour freezes.", name="The ice", comment="Winter")
HARBOUR = Entry(id="harbour", keys=("harbour",), content="Boats lie there.", comment="Boats")
GULLS = Entry(id="gulls", keys=("frost",), content="Gulls cry.", constant=True)


def said(*messages: str, entries: tuple[Entry, ...], book: Book | None = None) -> list[tuple[object, ...]]:
    """What is said about each of the activated entries: source, book, name, cause, key."""
    of = Book(name="Coast", entries=entries) if book is None else book
    result = LoreResult(activated_entries=entries)
    parts = activation_parts(result, ScanInput(messages=messages, books=(of,)))
    assert all((part.start, part.end, part.kind) == (0, 0, "lore") for part in parts)
    return [(part.source, part.book, part.name, part.cause, part.key) for part in parts]


def test_the_first_key_that_is_found_is_the_cause() -> None:
    assert said("There is ICE and Frost.", entries=(ICE,)) == [("ice", "Coast", "The ice", "key", "frost")]


def test_the_comment_names_an_entry_without_a_name() -> None:
    assert said("A harbour!", entries=(HARBOUR,)) == [("harbour", "Coast", "Boats", "key", "harbour")]


def test_a_constant_entry_has_no_key() -> None:
    assert said("frost", entries=(GULLS,)) == [("gulls", "Coast", "", "constant", None)]


def test_a_key_in_another_activated_entry_is_recursion() -> None:
    assert said("Frost.", entries=(ICE, HARBOUR))[1] == ("harbour", "Coast", "Boats", "recursion", "harbour")


def test_an_entry_does_not_activate_itself() -> None:
    alone = Entry(id="alone", keys=("sea",), content="The sea is wide.")
    assert said("Nothing.", entries=(alone,)) == [("alone", "Coast", "", "key", None)]


def test_upper_and_lower_case_count_where_the_entry_says_so() -> None:
    strict = Entry(id="ice", keys=("Ice", "ice"), content="Cold.", case_sensitive=True)
    assert said("ice", entries=(strict,))[0][-1] == "ice"
    assert said("ICE", entries=(strict,))[0][-1] is None


def test_two_messages_are_joined_by_a_line_break() -> None:
    across = Entry(id="across", keys=("light house", "lighthouse", "light\nhouse"), content="Tall.")
    assert said("a light", "house", entries=(across,))[0][-1] == "light\nhouse"


def test_only_as_many_messages_as_the_book_scans_count() -> None:
    entries = (HARBOUR,)
    for depth, key in ((1, None), (2, "harbour"), (0, None), (-1, None)):
        book = Book(name="Coast", entries=entries, scan_depth=depth)
        assert said("Nothing.", "The harbour.", entries=entries, book=book)[0][-1] == key
    four_back = ("", "", "", "harbour")
    assert said(*four_back, entries=entries)[0][-1] == "harbour"
    assert said("", *four_back, entries=entries)[0][-1] is None


def test_a_book_without_a_name_and_an_entry_of_no_book() -> None:
    assert said("harbour", entries=(HARBOUR,), book=Book(entries=(HARBOUR,)))[0][1] == ""
    assert said("harbour", entries=(HARBOUR,), book=Book(name="Other"))[0][:2] == ("harbour", "")
