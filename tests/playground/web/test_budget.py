"""What a browser has to load before a page works."""

import gzip
import re

from tavernkit.playground.edge.web.assets import STATIC_FOLDER, asset
from tavernkit.playground.edge.web.rendering import templates

SCRIPT = re.compile(r"<script[^>]*\bsrc=\"\{\{ asset\('([^']+)'\) \}\}\"")
MOST_BYTES = 150_000


def test_the_scripts_of_a_page_are_small_enough_for_a_slow_line() -> None:
    loader = templates().loader
    assert loader is not None
    scripts = SCRIPT.findall(loader.get_source(templates(), "base.html")[0])
    assert "app.js" in scripts
    files = [STATIC_FOLDER / asset(name).rpartition("/")[2] for name in scripts]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < MOST_BYTES
