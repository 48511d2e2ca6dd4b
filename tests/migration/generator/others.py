"""Files that have no use here, and files that nobody should have."""

from __future__ import annotations

from collections.abc import Sequence

from tests.migration.generator.characters import Avatar
from tests.migration.generator.manifest import KEPT, READ_OR_KEPT, REFUSED, FolderWriter
from tests.migration.generator.texts import picture, sentence


def write_others(folder: FolderWriter, avatars: Sequence[Avatar]) -> None:
    """Themes, media, backups, caches, and the code of extensions."""
    random = folder.random
    for name in ("forest.png", "Forest.png", "beach day.png"):
        folder.add(f"backgrounds/{name}", picture(random), "background", READ_OR_KEPT)
    folder.add_json("themes/Dark.json", {"name": "Dark", "main_text_color": "rgba(1, 2, 3, 1)"}, "kept", KEPT)
    folder.add_json("movingUI/Default.json", {"name": "Default", "movingUIState": {}}, "kept", KEPT)
    folder.add_json("user/workflows/Flow.json", {"1": {"class_type": "KSampler"}}, "kept", KEPT)
    for path in ("bgm/song.mp3", "ambient/rain.mp3", "blip/b.wav", "live2d/m/model.json", "vrm/model/a.vrm"):
        folder.add(f"assets/{path}", random.randbytes(64), "kept", KEPT)
    images = {"version": 1, "folders": [{"id": "f1", "name": "Mine"}], "images": {"forest.png": {"folderIds": ["f1"]}}}
    folder.add_json("image-metadata.json", images, "kept", KEPT)
    folder.add("backups/chat_olivia_20240501-100000.jsonl", sentence(random).encode(), "derived", KEPT)
    folder.add_json("backups/_sysprompt/Old.json", {"name": "Old", "content": ""}, "derived", KEPT)
    folder.add_json("backups/_group_metadata_update/1.json", {"id": "1", "members": []}, "derived", KEPT)
    for kind, name in (("bg", "forest.png"), ("avatar", avatars[0].file), ("persona", "sam.png")):
        folder.add(f"thumbnails/{kind}/{name}", picture(random), "derived", KEPT)
    folder.add_json("vectors/transformers/1234/model/index.json", {"version": 1, "items": []}, "derived", KEPT)
    folder.add_json("stats.json", {"timestamp": 1700000000000, avatars[0].file: {"total_gen_time": 5}}, "kept", KEPT)
    folder.add("content.log", b"default_Seraphina.png\n", "derived", KEPT)


def write_extension(folder: FolderWriter) -> None:
    manifest = {"display_name": "Theirs", "js": "index.js", "homePage": "https://example.invalid/theirs"}
    folder.add_json("extensions/Theirs/manifest.json", manifest, "extension", REFUSED)
    folder.add("extensions/Theirs/index.js", f"const key = '{folder.secret()}';".encode(), "extension", REFUSED)


def write_hostile_files(folder: FolderWriter, outside: str) -> None:
    """Damaged and hostile files; `outside` is a path that leaves the folder from a folder in it."""
    folder.add("worlds/Half.json", b'{"entries": {"0": {"uid": 0, "key": ["a', "world", REFUSED)
    folder.add("worlds/Nested.json", b'{"entries":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "world", REFUSED)
    folder.add("worlds/Zero.json", b"", "world", REFUSED)
    folder.add("OpenAI Settings/No object.json", b"[1, 2, 3]", "preset", REFUSED)
    folder.add("QuickReplies/Text.json", b"not JSON at all", "quick_replies", REFUSED)
    folder.add("groups/broken.json", b'{"id": "broken", "members": [', "group", REFUSED)
    folder.add_symlink("worlds/Leaving.json", outside, "world")
    folder.add_symlink("chats/Leaving", "../..", "chat")
