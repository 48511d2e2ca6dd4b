"""Where SillyTavern keeps what: the kinds of files by their paths, and where the folder of one user is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from tavernkit.errors import ParseError
from tavernkit.migration.files import FileKind
from tavernkit.migration.folders import FolderEntry, Tree, joined, walk

PRESET_FOLDERS: Mapping[str, str] = {
    "OpenAI Settings": "openai",
    "TextGen Settings": "textgenerationwebui",
    "KoboldAI Settings": "kobold",
    "NovelAI Settings": "novel",
    "instruct": "instruct",
    "context": "context",
    "sysprompt": "sysprompt",
    "reasoning": "reasoning",
}
"""The folders of presets, each with what SillyTavern calls the kind of presets in it."""

_IMAGE = r"\.(?:png|apng|jpe?g|jfif|webp|gif|avif|bmp|svg|tiff?)"
_VIDEO = r"\.(?:mp4|webm|mov|mkv|avi|m4v|ogv)"

_Rule: TypeAlias = tuple[re.Pattern[str], FileKind, str]


def _rule(pattern: str, kind: FileKind, detail: str = "") -> _Rule:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), kind, detail


_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "characters": (
        _rule(r"[^/]+\.(?:png|webp)", "character"),
        _rule(rf"[^/]+/(?:[^/]+/)?(?P<detail>[^/.-]*)[^/]*{_IMAGE}", "sprite"),
    ),
    "chats": (_rule(r"(?:[^/]+/)?[^/]+\.jsonl", "chat"),),
    "groups": (_rule(r"[^/]+\.json", "group"),),
    "group chats": (_rule(r"[^/]+\.jsonl", "group_chat"),),
    "worlds": (_rule(r"[^/]+\.json", "world"),),
    **{folder: (_rule(r"[^/]+\.(?:json|settings)", "preset", detail),) for folder, detail in PRESET_FOLDERS.items()},
    "QuickReplies": (_rule(r"[^/]+\.json", "quick_replies"),),
    "User Avatars": (_rule(rf"[^/]+{_IMAGE}", "persona_picture"),),
    "backgrounds": (_rule(rf"[^/]+(?:{_IMAGE}|{_VIDEO})", "background"),),
    "user": (_rule(r"(?P<detail>images|files)/.+", "chat_media"),),
    "assets": (_rule(r"temp/.+", "derived"),),
    "extensions": (_rule(r".+", "extension"),),
    "vectors": (_rule(r".+", "derived"),),
    "thumbnails": (_rule(r".+", "derived"),),
    "backups": (_rule(r".+", "derived"),),
    "themes": (),
    "movingUI": (),
}
"""By folder of the user: which of the paths in it are what. What fits no rule is kept."""

_KNOWN = {folder.casefold(): folder for folder in _RULES}
_SECRET = re.compile(r"(?:.*/)?(?:secrets\.json|secrets_migration_[^/]*|cookie-secret\.txt)|_storage/.*", re.I | re.S)
_SECRET_AT_TOP = re.compile(r"secrets[^/]*", re.IGNORECASE)
_OF_THE_SYSTEM = re.compile(r"(?:.*/)?(?:\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)", re.IGNORECASE | re.DOTALL)
_LONGEST_DETAIL = 100


def kind_of(path: str) -> tuple[FileKind, str]:
    """What a file is by its path below the user's folder, and more about it: of a preset its kind, of a sprite its
    expression."""
    top, slash, rest = path.partition("/")
    if _OF_THE_SYSTEM.fullmatch(path):
        return "derived", ""
    for pattern, kind, detail in _RULES.get(top, ()) if slash else ():
        if found := pattern.fullmatch(rest):
            if kind == "derived" and _SECRET.fullmatch(path):
                return "secret", ""
            return kind, (found["detail"] if "detail" in pattern.groupindex else detail)[:_LONGEST_DETAIL]
    if _SECRET.fullmatch(path) or (not slash and _SECRET_AT_TOP.fullmatch(path)):
        return "secret", ""
    if path == "settings.json":
        return "settings", ""
    return ("derived" if path == "content.log" else "kept"), ""


class Mount(NamedTuple):
    """A folder or file of the source, and the path below the user's folder that stands for it. `node` is the file."""

    path: str
    place: str
    node: FolderEntry | None = None


class Layout(NamedTuple):
    """Where the user's files are. `renamed` are folders of the user's folder that are spelt in another way."""

    mounts: tuple[Mount, ...]
    renamed: Mapping[str, str] = {}

    def files(self, tree: Tree) -> Iterator[tuple[str, FolderEntry]]:
        """Every file with its path below the user's folder, and everything that has a problem."""
        for mount in self.mounts:
            if mount.node is not None:
                yield mount.path, mount.node
                continue
            for path, node in walk(tree, mount.place):
                if not mount.path:
                    top, slash, rest = path.partition("/")
                    path = f"{self.renamed.get(top, top)}{slash}{rest}"
                yield joined(mount.path, path), node

    def place_of(self, path: str) -> str:
        """Where the file of a path is in the source."""
        for mount in self.mounts:
            if mount.path == path:
                return mount.place
            if mount.path and path.startswith(f"{mount.path}/"):
                return joined(mount.place, path[len(mount.path) + 1 :])
        top, slash, rest = path.partition("/")
        spelt = next((spelling for spelling, name in self.renamed.items() if name == top), top)
        base = next((mount.place for mount in self.mounts if not mount.path), "")
        return joined(base, f"{spelt}{slash}{rest}")


# One of these is in the folder of every user. Others of its folders are called as folders of many programs are.
_MARKS = frozenset(_KNOWN) - {"assets", "backups", "context", "extensions", "themes", "thumbnails", "user", "vectors"}
_OF_THE_PAGE = frozenset({"index.html", "script.js", "scripts"})
_BESIDE_USERS = ("_css", "_storage", "cookie-secret.txt")
# Before 1.12, folders of the user lay among those of the page, and some beside them.
_OLD_PAGE = {
    **{folder: folder for folder in _RULES if folder not in ("extensions", "vectors", "thumbnails", "backups")},
    **{file: file for file in ("settings.json", "stats.json", "content.log", "image-metadata.json")},
    "scripts/extensions/third-party": "extensions",
    "css/user.css": "_css/user.css",
}
_OLD_ROOT = {name: name for name in ("backups", "secrets.json", "thumbnails", "vectors")}
_AROUND = ("__MACOSX", ".DS_Store")
_MOST_WRAPPERS = 3
_MOST_NAMED = 20


def find_layout(tree: Tree, name: str) -> Layout | None:
    """Where the files of one user are; None where there is no folder of SillyTavern. Raises ParseError where there are
    several users, or where a link would have to be followed."""
    place = ""
    for _ in range(_MOST_WRAPPERS):
        found = _layout_at(tree, place, name)
        if found is not None:
            return found
        inside = [node for node in tree.children(place) if node.name not in _AROUND]
        if len(inside) != 1 or not inside[0].is_folder:
            break
        place = joined(place, inside[0].name)
    return None


def _layout_at(tree: Tree, place: str, name: str) -> Layout | None:
    nodes = _nodes(tree, place)
    if _is_user(nodes):
        if _OF_THE_PAGE & nodes.keys():
            return Layout(tuple(_mounts(tree, place, _OLD_PAGE)))
        return _user_layout(nodes, place)
    if "data" in nodes:
        found = _only_user(tree, _inside(nodes["data"], place), name)
        if found is not None:
            return found
    if "public" in nodes:
        public = _inside(nodes["public"], place)
        if _is_user(_nodes(tree, public)):
            return Layout((*_mounts(tree, public, _OLD_PAGE), *_mounts(tree, place, _OLD_ROOT)))
    return _only_user(tree, place, name)


def _only_user(tree: Tree, place: str, name: str) -> Layout | None:
    """The folder of the only user in a folder of users, of several the only one that has files."""
    users: dict[str, dict[str, FolderEntry]] = {}
    for node in tree.children(place):
        if node.is_folder and not node.problem and not node.name.startswith("_"):
            nodes = _nodes(tree, joined(place, node.name))
            if _is_user(nodes) and not _OF_THE_PAGE & nodes.keys():
                users[node.name] = nodes
    if len(users) > 1:
        with_files = {user: nodes for user, nodes in users.items() if _has_files(tree, joined(place, user))}
        users = with_files or dict(list(users.items())[:1])
    if len(users) > 1:
        listed = ", ".join(list(users)[:_MOST_NAMED]) + (", …" if len(users) > _MOST_NAMED else "")
        path = joined(joined(name, place), next(iter(users)))
        raise ParseError(
            f"There are the files of {len(users)} users: {listed}. Import the folder of one of them, such as {path}."
        )
    for user, nodes in users.items():
        beside = {outside: outside for outside in _BESIDE_USERS if outside not in nodes}
        own = _user_layout(nodes, joined(place, user))
        return own._replace(mounts=(*own.mounts, *_mounts(tree, place, beside)))
    return None


def _user_layout(nodes: Mapping[str, FolderEntry], place: str) -> Layout:
    """A folder in another spelling is taken for one that SillyTavern knows only where that itself is missing."""
    renamed: dict[str, str] = {}
    for name in nodes:
        known = _KNOWN.get(name.casefold(), name)
        if known not in nodes and known not in renamed.values():
            renamed[name] = known
    return Layout((Mount("", place),), renamed)


def _mounts(tree: Tree, place: str, wanted: Mapping[str, str]) -> Iterator[Mount]:
    """Those of the wanted folders and files that are there, by their paths for the user."""
    for inside, path in sorted(wanted.items(), key=lambda item: item[1]):
        folder, _, name = joined(place, inside).rpartition("/")
        node = next((node for node in _children(tree, folder) if node.name == name), None)
        if node is not None:
            yield Mount(path, joined(folder, name), None if node.is_folder and not node.problem else node)


def _children(tree: Tree, place: str) -> Iterator[FolderEntry]:
    """What is in a folder; nothing where there is no such folder."""
    try:
        yield from tree.children(place)
    except ParseError:
        return


def _nodes(tree: Tree, place: str) -> dict[str, FolderEntry]:
    """The folders in a folder and the few files that tell what it is, by name."""
    told = ("settings.json", *_OF_THE_PAGE, *_BESIDE_USERS)
    nodes = (node for node in _children(tree, place) if node.is_folder or node.name in told or node.problem)
    return {node.name: node for node in nodes}


def _is_user(nodes: Mapping[str, FolderEntry]) -> bool:
    folders = {name.casefold() for name, node in nodes.items() if node.is_folder}
    return bool(_MARKS & folders) or ("settings.json" in nodes and not nodes["settings.json"].is_folder)


def _inside(node: FolderEntry, place: str) -> str:
    if node.problem:
        raise ParseError(f"{node.name}: {node.problem} Or import the folder that it leads to.")
    return joined(place, node.name)


def _has_files(tree: Tree, place: str) -> bool:
    return any(not node.problem for _, node in walk(tree, place))
