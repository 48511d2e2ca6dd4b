from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tavernkit import Book, Character, Entry, LoreResult, PlainLore, ScanInput, User, build, risuai, sillytavern
from tavernkit.prompt.trimming import EvictionRecord


class Words:
    def estimate(self, text: str, model_hint: str | None = None) -> int:
        return len(text.split())


def entry(id: str, *keys: str, content: str = "", **fields: Any) -> Entry:
    return Entry(id=id, keys=keys, content=content or f"content {id}", **fields)


def awake(book: Book, *messages: str, budget: int | None = None) -> list[str]:
    result = PlainLore(Words()).scan(ScanInput(messages=messages, books=(book,), budget=budget))
    return [one.id for one in result.activated_entries]


def test_an_entry_wakes_when_one_of_its_keys_was_said_in_any_case() -> None:
    book = Book(entries=(entry("1", "Moon", "tide"), entry("2", "sun")))
    assert awake(book, "The MOONLIGHT falls") == ["1"]
    assert awake(book, "nothing") == []


def test_case_matters_when_the_entry_says_so() -> None:
    book = Book(entries=(entry("1", "Rose", case_sensitive=True),))
    assert awake(book, "a rose") == []
    assert awake(book, "my Rose") == ["1"]


def test_a_selective_entry_needs_a_secondary_key_too() -> None:
    book = Book(entries=(entry("1", "moon", secondary_keys=("red",), selective=True),))
    assert awake(book, "the moon") == []
    assert awake(book, "the red moon") == ["1"]


def test_constant_entries_are_always_awake_and_disabled_ones_never() -> None:
    book = Book(
        entries=(entry("1", constant=True), entry("2", "x", enabled=False), entry("3", constant=True, enabled=False))
    )
    assert awake(book) == ["1"]
    assert awake(book, "x") == ["1"]


def test_only_the_last_messages_are_scanned() -> None:
    book = Book(scan_depth=2, entries=(entry("1", "moon"),))
    assert awake(book, "a", "moon", "b") == ["1"]
    assert awake(book, "a", "b", "moon") == []
    assert awake(Book(scan_depth=0, entries=(entry("1", "moon"),)), "moon") == []


def test_recursion_wakes_what_awake_entries_mention_only_where_the_book_wants_it() -> None:
    entries = (entry("1", "moon", content="tides"), entry("2", "tides", content="fish"), entry("3", "fish"))
    assert awake(Book(entries=entries), "moon") == ["1"]
    assert awake(Book(entries=entries, recursive_scanning=True), "moon") == ["1", "2", "3"]


def test_the_order_is_insertion_order() -> None:
    book = Book(entries=(entry("late", "x", insertion_order=9), entry("early", "x", insertion_order=1)))
    assert awake(book, "x") == ["early", "late"]


def test_over_budget_the_least_important_go_and_the_report_names_them() -> None:
    book = Book(entries=(entry("1", "x", priority=5), entry("2", "x", priority=1), entry("3", "x", priority=9)))
    result = PlainLore(Words()).scan(ScanInput(messages=("x",), books=(book,), budget=4))
    assert [one.id for one in result.activated_entries] == ["1", "3"]
    assert result.total_tokens == 4
    assert result.trim_report is not None
    assert [record.block_id for record in result.trim_report.evictions] == ["2"]
    assert (result.trim_report.initial_tokens, result.trim_report.final_tokens) == (6, 4)


def test_an_entry_that_did_not_fit_is_recorded_with_where_it_came_from() -> None:
    book = Book(entries=(entry("1", "x", priority=5, position="before_char"), entry("2", "x", priority=9)))
    result = PlainLore(Words()).scan(ScanInput(messages=("x",), books=(book,), budget=2))
    assert result.trim_report is not None
    assert result.trim_report.evictions == (
        EvictionRecord(
            block_id="1",
            slot="before_char",
            token_count=2,
            reason="budget_exceeded",
            budget_group="lore",
            priority=5,
            source={"stage": "lore", "id": "1"},
        ),
    )


def test_an_entry_without_content_is_never_awake() -> None:
    assert awake(Book(entries=(Entry(id="1", keys=("x",)), Entry(id="2", constant=True))), "x") == []


def test_a_books_own_budget_counts_before_the_scans() -> None:
    small = Book(token_budget=2, entries=(entry("1", "x"), entry("2", "x")))
    assert awake(small, "x", budget=99) == ["1"]


words = st.text(alphabet="abİßΣς\ud800 ", max_size=6)


@given(st.lists(words, max_size=4), words)
def test_where_case_matters_keys_are_found_as_they_are_written(keys: list[str], text: str) -> None:
    book = Book(entries=tuple(entry(str(n), key, case_sensitive=True) for n, key in enumerate(keys)))
    assert awake(book, text) == [str(n) for n, key in enumerate(keys) if key and key in text]


def test_a_key_that_one_text_has_and_a_second_key_in_another_wake_a_selective_entry() -> None:
    entries = (
        entry("1", "moon", content="A red light."),
        entry("2", "moon", secondary_keys=("red",), selective=True),
        entry("3", "Moon", secondary_keys=("light",), selective=True, case_sensitive=True),
    )
    assert awake(Book(entries=entries, recursive_scanning=True), "Moon") == ["1", "2", "3"]


def test_a_build_takes_a_lore_engine_of_ones_own_and_platforms_say_that_they_do_not() -> None:
    class LastEntry:
        def scan(self, scan_input: ScanInput) -> LoreResult:
            return LoreResult(activated_entries=scan_input.books[0].entries[-1:])

    inputs: dict[str, Any] = {
        "character": Character(name="Mira"),
        "user": User(name="Ada"),
        "books": [Book(entries=(entry("1", constant=True), entry("2")))],
        "lore_engine": LastEntry(),
    }
    built = build(**inputs)
    assert [verdict.entry for verdict in built.result.lore] == ["2"]
    assert "content 2" in [message.content for message in built.plan.messages]
    for platform in (sillytavern.build, risuai.build):
        assert "lore_engine_ignored" in [warning.code for warning in platform(**inputs).plan.warnings]


def test_a_lore_engine_of_ones_own_needs_no_book() -> None:
    class FromElsewhere:
        def scan(self, scan_input: ScanInput) -> LoreResult:
            assert scan_input.messages == ("Is the tide in?",)
            return LoreResult(activated_entries=(entry("1"),))

    built = build(
        character=Character(name="Mira"),
        user=User(name="Ada"),
        message="Is the tide in?",
        lore_engine=FromElsewhere(),
    )
    assert "content 1" in [message.content for message in built.plan.messages]


@given(st.lists(words, max_size=4), words)
def test_the_one_pass_scan_agrees_with_looking_for_each_key(keys: list[str], text: str) -> None:
    book = Book(entries=tuple(entry(str(n), key) for n, key in enumerate(keys)))
    expected = [str(n) for n, key in enumerate(keys) if key and key.lower() in text.lower()]
    assert awake(book, text) == expected
