"""Chats that were copied from others: branches and checkpoints, with both links, with one, or with none."""

from __future__ import annotations

from copy import deepcopy

from tests.migration.generator.characters import Avatar
from tests.migration.generator.chats import ChatWriter, Record
from tests.migration.generator.manifest import WrittenBranch


class Tree:
    """A chat that others are copied from. Copies take along the links that the messages had at that time: a later
    branch names earlier ones too, whose parent it is not."""

    def __init__(self, chats: ChatWriter, avatar: Avatar, name: str) -> None:
        self.chats = chats
        self.avatar = avatar
        self.name = name
        self.messages = chats.messages(avatar.name, 12)
        self.path = f"chats/{avatar.chats}/{name}.jsonl"

    def link(self, fork: int, child: str, kind: str) -> None:
        extra = self.messages[fork - 1]["extra"]
        if kind == "checkpoint":
            extra["bookmark_link"] = child
        else:
            extra.setdefault("branches", []).append(child)

    def child(
        self, name: str, fork: int, *, main_chat: str | None, is_certain: bool = True, kind: str = "branch"
    ) -> list[Record]:
        """Write a copy of the first messages that goes on differently; returns its messages."""
        messages = deepcopy(self.messages[:fork]) + self.chats.messages(self.avatar.name, 3)
        path = self.write(name, messages, main_chat)
        self.chats.folder.branches.append(WrittenBranch(path, self.path, fork, is_certain, kind))
        return messages

    def write(self, name: str, messages: list[Record], main_chat: str | None) -> str:
        metadata = {} if main_chat is None else {"main_chat": main_chat}
        return self.chats.write(self.avatar, [self.chats.header(**metadata), *messages], name=name)


def write_trees(chats: ChatWriter, avatar: Avatar, number: int) -> None:
    """One chat with a branch of each kind."""
    name = f"{avatar.name} - tree {number}"
    tree = Tree(chats, avatar, name)
    branch, checkpoint = f"{name} - Branch #1", f"{name} - Checkpoint #1"
    messages = tree.child(branch, 3, main_chat=name)
    tree.link(3, branch, "branch")
    tree.child(checkpoint, 6, main_chat=name, kind="checkpoint")
    tree.link(6, checkpoint, "checkpoint")
    _write_child_of_branch(tree, branch, messages)
    _write_one_link(tree, name)
    _write_guesses(tree, name)
    _write_other_swipe(tree, f"{name} - Branch #7")
    tree.write(name, tree.messages, None)
    _write_roots(tree, number)


def _write_child_of_branch(tree: Tree, branch: str, messages: list[Record]) -> None:
    child = f"{branch} - Branch #1"
    inner = Tree(tree.chats, tree.avatar, branch)
    inner.messages = messages
    # The branch was written before its own link: only the child has one.
    inner.child(child, 5, main_chat=branch)


def _write_one_link(tree: Tree, name: str) -> None:
    """The child was renamed; the parent was; the child is too old to have a link."""
    tree.child(f"{name}, renamed child", 4, main_chat=name)
    tree.link(4, f"{name} - Branch #2", "branch")
    tree.child(f"{name} - Branch #3", 5, main_chat="What the parent was called")
    tree.link(5, f"{name} - Branch #3", "branch")
    tree.child(f"Branch #4 - {name}", 7, main_chat=None)
    tree.link(7, f"Branch #4 - {name}", "branch")


def _write_guesses(tree: Tree, name: str) -> None:
    tree.child(f"{name} - Branch #5", 9, main_chat=None, is_certain=False)
    tree.child(f"{name} and on", 10, main_chat=None, is_certain=False)


def _write_other_swipe(tree: Tree, branch: str) -> None:
    """A branch may show another swipe of its last common message."""
    shown = tree.messages[8]
    other = (shown["swipe_id"] + 1) % len(shown["swipes"])
    common = [*deepcopy(tree.messages[:8]), {**deepcopy(shown), "swipe_id": other, "mes": shown["swipes"][other]}]
    path = tree.write(branch, [*common, *tree.chats.messages(tree.avatar.name, 2)], tree.name)
    tree.link(9, branch, "branch")
    tree.chats.folder.branches.append(WrittenBranch(path, tree.path, 9))


def _write_roots(tree: Tree, number: int) -> None:
    """Links that lead nowhere, or in a circle."""
    chats, name = tree.chats, tree.avatar.name
    stray = tree.write(f"{name} - no parent {number} - Branch #1", chats.messages(name, 3), "Gone")
    circle = [f"{name} - circle {number} {half}" for half in ("a", "b")]
    pairs = zip(circle, reversed(circle), strict=True)
    chats.folder.roots += [stray, *(tree.write(one, chats.messages(name, 3), other) for one, other in pairs)]
