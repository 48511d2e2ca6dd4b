"""Finds texts of the interface that no catalogue can have, because nobody has marked them with `_()`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from babel.messages.jslexer import Token, tokenize
from jinja2 import Environment, nodes

__all__ = ["ROOT", "Found", "in_python", "in_scripts", "in_templates"]

ROOT = Path(__file__).parents[2]
PLAYGROUND = ROOT / "src" / "tavernkit" / "playground"
TEMPLATES = PLAYGROUND / "edge" / "web" / "templates"
FRONTEND = ROOT / "frontend"

IN_ENGLISH = (
    # What programs are told.
    *("edge/api/", "edge/models_api/"),
    # What the person at the command line is told, or the log.
    *("base/database/backup", "base/database/engine", "base/database/migrat", "base/database/start_lock"),
    *("base/llm/secrets", "edge/connections", "edge/server", "edge/web/assets"),
    # What a scripted model says.
    "base/llm/scripted",
    # The markers themselves.
    *("base/languages/", "edge/web/rendering"),
)
"""Files of the application, by how their paths begin, in which no sentence is translated."""
MARKERS = {"_", "gettext", "ngettext"}
PLACE = "\ufffc"
"""Stands where a template puts in what is not written in it."""
READ_ATTRIBUTES = {"alt", "aria-description", "aria-label", "aria-roledescription", "label", "placeholder", "title"}
"""Attributes whose values people read; so do they read those whose names end with `-confirm`."""
NOT_READ = {"code", "kbd", "script", "style", "template"}
"""Elements in which the texts of the interface do not stand as such."""
LETTERS = re.compile(r"[^\W\d_]{2,}")
LABEL = re.compile(r"\s*[A-Z][a-z]+(?:[ ,'’-]|[.!?…:]?\s*$)")
"""A text that begins as labels and sentences do."""
SENTENCE = re.compile(r"\s*[A-Z][\w'’]*[ ,].*\w[.!?…]\s*$", re.DOTALL)
WORDS = re.compile(r"(?:^|[\s\ufffc])[a-z]{2,}[ ,.][\s\ufffc]*(?:[a-z]|$)")
"""Words between the values of a text that is put together."""


class Found(NamedTuple):
    """A text that is not marked, and where it stands."""

    file: str
    line: int
    text: str

    @property
    def words(self) -> str:
        """The text without what is put into it, and without marks around it."""
        return re.sub(r"^\W+|\W+$", "", self.text.replace("{…}", ""))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def in_templates() -> Iterator[Found]:
    """Texts between tags, in attributes that people read, and in expressions."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    for file in sorted(TEMPLATES.rglob("*.html")):
        source, name = file.read_text(), file.relative_to(ROOT).as_posix()
        reader = _Html()
        reader.feed(_without_expressions(environment, source))
        reader.close()
        yield from (Found(name, line, text) for line, text in reader.found)
        yield from (Found(name, line, text) for line, text in _constants(environment.parse(source)))


def in_python() -> Iterator[Found]:
    """What is refused, answered, shown or stored in words, but is a plain string; and sentences that are glued."""
    for file in sorted(PLAYGROUND.rglob("*.py")):
        parts = file.relative_to(PLAYGROUND).parts
        if file.relative_to(PLAYGROUND).as_posix().startswith(IN_ENGLISH):
            continue
        reader = _Python(labels=parts[0] == "edge" and parts[1] in {"live", "pages", "presenting", "views", "web"})
        reader.visit(ast.parse(file.read_text()))
        yield from (Found(file.relative_to(ROOT).as_posix(), line, text) for line, text in reader.found)


def in_scripts() -> Iterator[Found]:
    """Strings of the scripts that read like sentences, or that are put where people read them."""
    for file in sorted(FRONTEND.rglob("*.ts")):
        name = file.relative_to(ROOT).as_posix()
        yield from (Found(name, line, text) for line, text in _unmarked_strings(file.read_text(), 1))


def _without_expressions(environment: Environment, source: str) -> str:
    """The HTML of a template, on the same lines."""
    pieces = []
    for _, kind, value in environment.lex(source):
        if kind == "data":
            pieces.append(value)
        else:
            pieces.append(PLACE * (kind == "variable_begin") + "\n" * value.count("\n"))
    return "".join(pieces)


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in NOT_READ
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in READ_ATTRIBUTES or name.endswith("-confirm") or (tag, name) == ("button", "value"):
                self._note(value or "", is_label=(tag, name) == ("button", "value"))

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in NOT_READ

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._note(data)

    def _note(self, text: str, *, is_label: bool = False) -> None:
        # An attribute of a tag that ends in several ways.
        text = re.sub(rf'[\w-]+="{PLACE}"', "", text)
        if LETTERS.search(text) and (not is_label or LABEL.match(text)):
            lines = len(text) - len(text.lstrip())
            line = self.getpos()[0] + text[:lines].count("\n")
            self.found.append((line, " ".join(text.replace(PLACE, "{…}").split())))


def _constants(node: nodes.Node) -> Iterator[tuple[int, str]]:
    """Texts in the expressions of a template that are not marked, and marked ones that cannot be found or are glued."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in MARKERS:
        if not (node.args and isinstance(node.args[0], nodes.Const)):
            yield node.lineno, f"{node.node.name}() has no text that could be collected"
        values = [*node.args[2 if node.node.name == "ngettext" else 1 :], *node.kwargs]
        for value in values:
            yield from _constants(value)
        return
    if isinstance(node, nodes.Concat) and _is_glued(node):
        yield node.lineno, "a sentence that is glued to another text: give it as a value"
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and LABEL.match(node.value):
        yield node.lineno, node.value
    for child in node.iter_child_nodes():
        yield from _constants(child)


def _is_glued(node: nodes.Concat) -> bool:
    """Whether a marked text stands beside more than spaces."""
    marked = [isinstance(part, nodes.Call) and getattr(part.node, "name", "") in MARKERS for part in node.nodes]
    others = [part for part, is_marked in zip(node.nodes, marked, strict=True) if not is_marked]
    return any(marked) and any(not isinstance(part, nodes.Const) or str(part.value).strip() for part in others)


class _Python(ast.NodeVisitor):
    def __init__(self, *, labels: bool) -> None:
        self.found: list[tuple[int, str]] = []
        self._labels = labels

    def visit_Call(self, node: ast.Call) -> None:
        name = _name_of(node.func)
        if name in MARKERS:
            texts = node.args[: 2 if name == "ngettext" else 1]
            # What is looked up by a variable was collected elsewhere.
            if any(isinstance(text, (ast.JoinedStr, ast.BinOp)) for text in texts):
                self.found.append((node.lineno, f"{name}() has no text that could be collected"))
            for value in [*node.args[len(texts) :], *(keyword.value for keyword in node.keywords)]:
                self.visit(value)
            return
        if name in {"Refused", "stored"}:
            given = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "sentence")]
            for sentence in given:
                if _is_text(sentence) or isinstance(sentence, (ast.JoinedStr, ast.BinOp)):
                    self.found.append((sentence.lineno, ast.unparse(sentence)))
            return
        if name in _NOT_SHOWN or (isinstance(node.func, ast.Attribute) and _name_of(node.func.value) == "log"):
            return
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        # Of the API and of settings, whose descriptions are collected by themselves.
        if node.arg not in {"description", "summary", "responses"}:
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        for value in node.values:
            self.visit(value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        whole = "".join(str(part.value) if isinstance(part, ast.Constant) else PLACE for part in node.values)
        if any(_is_marked(part.value) for part in node.values if isinstance(part, ast.FormattedValue)):
            self.found.append((node.lineno, "a sentence that is glued to another text: give it as a value"))
        elif self._is_shown(whole) or (self._labels and WORDS.search(whole)):
            self.found.append((node.lineno, whole.replace(PLACE, "{…}")))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, (ast.Add, ast.Mod)) and (_is_marked(node.left) or _is_marked(node.right)):
            self.found.append((node.lineno, "a sentence that is glued to another text: give it as a value"))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if _is_marked(node.value):
            self.found.append((node.lineno, f"a sentence that is changed by .{node.attr}"))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and self._is_shown(node.value):
            self.found.append((node.lineno, node.value))

    def _is_shown(self, text: str) -> bool:
        # With macros in it, it is for a model.
        return "{{" not in text and bool(SENTENCE.match(text) or (self._labels and LABEL.match(text)))


_NOT_SHOWN = {
    *("ValueError", "TypeError", "RuntimeError", "NotImplementedError", "LookupError", "AssertionError", "SystemExit"),
    *("cast", "TypeVar", "getLogger"),
}
"""Calls whose texts are for who runs or changes the application."""


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_marked(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name_of(node.func) in MARKERS


SHOWING = {"announce", "showProblem", "confirm", "alert"}
"""Functions of the scripts that show a text."""
SHOWN = {"textContent", "innerText", "ariaLabel", "placeholder", "title", "status"}
"""Properties of which people read the text."""


def _unmarked_strings(source: str, first_line: int) -> Iterator[tuple[int, str]]:
    calls: list[str] = []
    before = Token("operator", "", 1)
    assigned = -2
    for token in tokenize(source, jsx=False, dotted=False, template_string=True):
        line = first_line + token.lineno - 1
        if token.type in {"linecomment", "multilinecomment"}:
            continue
        if token.value == "(":
            calls.append(before.value if before.type == "name" else "")
        elif token.value == ")" and calls:
            calls.pop()
        elif token.value == "=" and before.value in SHOWN:
            assigned = token.lineno
        elif token.type in {"string", "template_string"}:
            text, codes = _parts(token)
            for offset, code in codes:
                yield from _unmarked_strings(code, line + offset)
            # What is assigned may stand on the next line.
            is_read = token.lineno - assigned < 2 or bool(SHOWING & set(calls))
            if not (calls and calls[-1] in MARKERS):
                if _is_sentence(text) or (is_read and LABEL.match(text)):
                    yield line, text.replace(PLACE, "{…}")
            elif token.type == "template_string":
                yield line, f"{calls[-1]}() has no text that could be collected"
        before = token


def _is_sentence(text: str) -> bool:
    return bool(SENTENCE.match(text) or (LABEL.match(text) and " " in text) or (PLACE in text and WORDS.search(text)))


def _parts(token: Token) -> tuple[str, list[tuple[int, str]]]:
    """The text of a literal with places, and the code of these, with the lines that stand before it."""
    literal = token.value[1:-1]
    if token.type == "string":
        return literal, []
    text, codes, start, depth = "", [], 0, 0
    for place in re.finditer(r"\$\{|\{|\}", literal):
        if depth == 0 and place[0] == "${":
            text += literal[start : place.start()] + PLACE
            start, depth = place.end(), 1
        elif depth and place[0] == "}":
            depth -= 1
            if depth == 0:
                codes.append((literal[:start].count("\n"), literal[start : place.start()]))
                start = place.end()
        elif depth:
            depth += 1
    return text + literal[start:] * (depth == 0), codes
