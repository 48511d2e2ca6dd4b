"""Addresses that a provider may have.

Nothing is said about where they lead: models often run on this machine or in the same network. That is why only
administrators, who could run a program here as well, may write one.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tavernkit.playground.base.refused import Refused


def read_address(text: str) -> str:
    """The address without blanks around it, if it can be that of a server."""
    address = text.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise _refused("cannot be read") from None
    if parts.scheme not in ("http", "https"):
        raise _refused("does not begin with http:// or https://")
    if not parts.hostname or port == 0 or not address.isprintable() or " " in address:
        raise _refused("names no server")
    if "@" in parts.netloc:
        raise _refused("holds a name or a password; put the key into its own field")
    if parts.query or parts.fragment:
        raise _refused("has something behind its path; leave out what follows the ? or the #")
    return address


def is_same_server(one: str, other: str) -> bool:
    """Whether a key for the one may be sent to the other."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())


def without_credentials(address: str) -> str:
    """The address as it may be shown."""
    return re.sub(r"//[^/@]*@", "//", address)


def _refused(problem: str) -> Refused:
    return Refused(code="invalid", sentence=f"The address {problem}. Write one such as http://127.0.0.1:11434/v1.")
