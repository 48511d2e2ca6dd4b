"""RisuAI's backups, folders and databases, as files in and out."""

from tavernkit.migration.risuai.backup import write_backup
from tavernkit.migration.risuai.branches import BranchLink, branch_link
from tavernkit.migration.risuai.chats import ChatNames, chat_to_file, file_to_chat
from tavernkit.migration.risuai.parts import encode_part
from tavernkit.migration.risuai.source import RisuaiSource, open_risuai

__all__ = [
    "BranchLink",
    "ChatNames",
    "RisuaiSource",
    "branch_link",
    "chat_to_file",
    "encode_part",
    "file_to_chat",
    "open_risuai",
    "write_backup",
]
