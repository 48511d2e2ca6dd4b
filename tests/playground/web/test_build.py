"""The build of the pages' scripts and styles, with the real tools."""

import json
import shutil
from pathlib import Path

import pytest
from hatch_build import (
    NODE_MODULES,
    STATIC,
    STATIC_INPUTS,
    BuildError,
    CustomBuildHook,
    build_pages,
    check_pages,
    install_npm_packages,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone whose pages have not been built, and whose npm packages are there already."""
    for path in (*STATIC_INPUTS, Path("package.json")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, tmp_path / path)
        else:
            shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / NODE_MODULES).symlink_to(install_npm_packages(ROOT), target_is_directory=True)
    return tmp_path


def manifest(project: Path) -> dict[str, str]:
    names: dict[str, str] = json.loads((project / STATIC / "manifest.json").read_text())
    return names


def test_everything_in_the_manifest_is_there_and_named_by_its_content(project: Path) -> None:
    build_pages(project)
    names = manifest(project)
    assert {"app.js", "app.css", "theme.js", "icon.svg"} <= set(names)
    assert all((project / STATIC / name).is_file() for name in names.values())
    before = names["app.css"], names["app.js"]
    with (project / "frontend/styles/home.css").open("a") as file:
        file.write(".empty { margin: 1px }")
    build_pages(project)
    assert manifest(project)["app.css"] != before[0]
    assert manifest(project)["app.js"] == before[1]


def test_a_repeated_build_does_nothing_and_needs_no_tools(project: Path) -> None:
    build_pages(project)
    before = (project / STATIC / "manifest.json").stat().st_mtime_ns
    (project / NODE_MODULES).unlink()
    (project / "package.json").unlink()
    build_pages(project)
    assert (project / STATIC / "manifest.json").stat().st_mtime_ns == before


def test_a_mistake_stops_the_build_and_leaves_the_last_one(project: Path) -> None:
    build_pages(project)
    before = manifest(project)
    (project / "frontend/app.ts").write_text("import './nowhere'")
    with pytest.raises(BuildError, match=r"build\.mjs"):
        build_pages(project)
    assert manifest(project) == before


def test_a_wrong_type_is_found(project: Path) -> None:
    (project / "frontend/mistake.ts").write_text("export const number: number = 'one'\n")
    with pytest.raises(BuildError, match="tsc"):
        check_pages(project)


def test_a_wheel_carries_every_page_of_the_documentation() -> None:
    build_data: dict[str, dict[str, str]] = {"force_include": {}}
    CustomBuildHook(str(ROOT), {}, None, None, "", "wheel").initialize("standard", build_data)  # type: ignore[arg-type]
    carried = set(build_data["force_include"].values())
    pages = {
        f"tavernkit/documentation/{page.relative_to(ROOT / 'docs').as_posix()}" for page in ROOT.glob("docs/**/*.md")
    }
    assert len(pages) > 40
    assert pages <= carried
