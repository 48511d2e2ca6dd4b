"""How a text is parsed: for which message, for whom, and with what effects."""

from __future__ import annotations

from tavernkit.values import Value


class CBSOptions(Value, frozen=True, kw_only=True):
    """What the caller of the parser decides.

    `chat_index` is the place of the message whose text this is, -1 for none. Variables are written only with
    `runs_variables`; `removes_variables` takes such macros out of the text. `is_display` is for the page rather than
    the prompt (RisuAI: `visualize`). `character_name` stands in for the scene's character, as in a group.
    `consistent_names` gives `botname` and `username`, so that texts can be compared. `role`, `chat_role` and
    `is_first_message` are what `{{role}}` and `{{isfirstmsg}}` answer from.
    Strict parsing raises CBSSyntaxError and CBSStackOverflowError where RisuAI carries on. `quietly` is for what people
    have said: nobody is told of macros in it that do not exist.
    """

    chat_index: int = -1
    runs_variables: bool = False
    removes_variables: bool = False
    is_display: bool = False
    tokenizes_accurately: bool = False
    consistent_names: bool = False
    character_name: str | None = None
    role: str | None = None
    chat_role: str | None = None
    is_first_message: bool = False
    strict: bool = False
    quietly: bool = False
