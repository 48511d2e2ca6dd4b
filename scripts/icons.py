"""Draws the icons of the installed application from the lines of `frontend/icon.svg`: `python scripts/icons.py`.

Browsers draw the SVG themselves; phones and desktops want pictures of fixed sizes. What this writes is committed.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

FOLDER = Path(__file__).parents[1] / "frontend" / "icons"
GROUND, LETTER, CLEAR = (0x8A, 0x33, 0x24, 255), (0xFB, 0xF8, 0xF2, 255), (0, 0, 0, 0)
# In the units of the SVG, whose side is 32.
SIDE, CORNER, STROKE = 32, 7, 3
LINES = (((9, 10.5), (23, 10.5)), ((16, 10.5), (16, 23)))
ICONS = {
    "icon-192": (192, False),
    "icon-512": (512, False),
    "icon-maskable": (512, True),
    "apple-touch-icon": (180, True),
}
"""Name to size, and whether the system cuts it out of a full square."""
LARGER = 8
"""It is drawn larger and made smaller, so that edges are smooth."""


def draw(size: int, *, is_full: bool) -> Image.Image:
    """The icon as a picture; in a full square, the letter stays in the inner circle that no mask cuts."""
    unit = size * LARGER / SIDE
    side = size * LARGER
    picture = Image.new("RGBA", (side, side), GROUND if is_full else CLEAR)
    pen = ImageDraw.Draw(picture)
    if not is_full:
        pen.rounded_rectangle((0, 0, side - 1, side - 1), CORNER * unit, GROUND)
    for begin, end in LINES:
        (x1, y1), (x2, y2) = ((x * unit, y * unit) for x, y in (begin, end))
        pen.line((x1, y1, x2, y2), LETTER, round(STROKE * unit))
        for x, y in ((x1, y1), (x2, y2)):
            pen.circle((x, y), STROKE * unit / 2, LETTER)
    return picture.resize((size, size), Image.Resampling.LANCZOS).quantize(64)


def main() -> None:
    """Write all icons."""
    FOLDER.mkdir(exist_ok=True)
    for name, (size, is_full) in ICONS.items():
        draw(size, is_full=is_full).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
