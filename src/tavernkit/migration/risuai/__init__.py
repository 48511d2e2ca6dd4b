"""RisuAI's backups, folders and databases, as files in and out."""

from tavernkit.migration.risuai.backup import write_backup
from tavernkit.migration.risuai.branches import BranchLink, branch_link
from tavernkit.migration.risuai.parts import encode_part
from tavernkit.migration.risuai.source import RisuaiSource, open_risuai

__all__ = ["BranchLink", "RisuaiSource", "branch_link", "encode_part", "open_risuai", "write_backup"]
