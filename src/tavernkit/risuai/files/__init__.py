"""RisuAI's files, in and out: characters, modules and presets."""

from tavernkit.risuai.character import write_character
from tavernkit.risuai.files.character_file import (
    MODULE_FILE,
    LoadedCharacter,
    load_character,
    module_of,
    save_charx,
    save_png,
    with_module,
)
from tavernkit.risuai.files.module_file import read_module_book, read_module_file
from tavernkit.risuai.files.preset_file import PresetFormat, is_preset_file, read_preset_file, write_preset_file
from tavernkit.risuai.files.risum import ModuleFile, is_risum, read_risum, write_risum
from tavernkit.risuai.files.rpack import decode_rpack, encode_rpack
from tavernkit.risuai.module import write_module
from tavernkit.risuai.regex_script import write_script
from tavernkit.risuai.settings import write_settings
from tavernkit.risuai.trigger import write_trigger

__all__ = [
    "MODULE_FILE",
    "LoadedCharacter",
    "ModuleFile",
    "PresetFormat",
    "decode_rpack",
    "encode_rpack",
    "is_preset_file",
    "is_risum",
    "load_character",
    "module_of",
    "read_module_book",
    "read_module_file",
    "read_preset_file",
    "read_risum",
    "save_charx",
    "save_png",
    "with_module",
    "write_character",
    "write_module",
    "write_preset_file",
    "write_risum",
    "write_script",
    "write_settings",
    "write_trigger",
]
