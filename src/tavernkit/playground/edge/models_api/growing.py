"""A reply as far as it is known here, put together from pieces that may be early, late or double."""

from __future__ import annotations


class GrowingText:
    """Pieces carry their place in UTF-16 code units, because pages count so."""

    def __init__(self) -> None:
        self.text = ""
        self._length = 0
        self._taken = 0
        self._early: list[tuple[int, str]] = []

    @property
    def has_hole(self) -> bool:
        """Whether something was heard behind what is still missing."""
        return bool(self._early)

    def add(self, offset: int, piece: str) -> None:
        """A piece that was heard; one behind a hole is kept until that is filled."""
        self._early.append((offset, piece))
        self._join()

    def learn(self, text: str) -> None:
        """The beginning as it is written down elsewhere; it may be behind what was heard."""
        if text.startswith(self.text):
            self._append(text[len(self.text) :])
        self._join()

    def take(self) -> str:
        """What has come since this was asked last."""
        new, self._taken = self.text[self._taken :], len(self.text)
        return new

    def _append(self, text: str) -> None:
        self.text += text
        self._length += _units(text)

    def _join(self) -> None:
        waiting, self._early = sorted(self._early), []
        for offset, piece in waiting:
            if offset > self._length:
                self._early.append((offset, piece))
            else:
                self._append(_behind(piece, self._length - offset))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _behind(piece: str, units: int) -> str:
    """The piece without so many code units at its beginning."""
    return piece.encode("utf-16-le")[2 * units :].decode("utf-16-le", "replace")
