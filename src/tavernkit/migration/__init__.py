"""Moving in and out: folders and backups of SillyTavern and RisuAI, read and written without loss."""

from tavernkit.migration.chat_tree import ChatDigest, ChatLink, ChatPlace, chat_trees, common_messages, digest_chat
from tavernkit.migration.files import Application, FileKind, FileSource, RefusedFile, SourceFile
from tavernkit.migration.json_edit import REMOVED, JsonPath, edit_json
from tavernkit.migration.names import Names, chat_folder, file_name, match_folder, sanitised
from tavernkit.migration.opening import open_source
from tavernkit.migration.secrets import without_secrets
from tavernkit.migration.settings_file import (
    SettingsReference,
    UserSettingsFile,
    merged_settings,
    read_user_settings_file,
)

__all__ = [
    "REMOVED",
    "Application",
    "ChatDigest",
    "ChatLink",
    "ChatPlace",
    "FileKind",
    "FileSource",
    "JsonPath",
    "Names",
    "RefusedFile",
    "SettingsReference",
    "SourceFile",
    "UserSettingsFile",
    "chat_folder",
    "chat_trees",
    "common_messages",
    "digest_chat",
    "edit_json",
    "file_name",
    "match_folder",
    "merged_settings",
    "open_source",
    "read_user_settings_file",
    "sanitised",
    "without_secrets",
]
