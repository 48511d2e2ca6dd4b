from tavernkit import Injection, Injections


def test_an_id_registers_once_and_the_order_is_that_of_the_ids() -> None:
    injections = Injections(Injection(id="b", content="1"), Injection(id="a", content="2"))
    injections.register(Injection(id="b", content="3"))
    assert [(injection.id, injection.content) for injection in injections] == [("a", "2"), ("b", "3")]


def test_removing_is_quiet_about_what_is_not_there() -> None:
    injections = Injections(Injection(id="a", content=""))
    injections.remove("a")
    injections.remove("a")
    assert list(injections) == []


def test_ephemeral_ids_are_named_for_pruning() -> None:
    injections = Injections(Injection(id="a", content="", ephemeral=True), Injection(id="b", content=""))
    assert injections.ephemeral_ids == ("a",)
