"""Addresses that a provider may have.

Nothing is said about where they lead: models often run on this machine or in the same network. That is why only
administrators, who could run a program here as well, may write one.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tavernkit.playground.base.languages import gettext as _
from tavernkit.playground.base.refused import Refused


def read_address(text: str) -> str:
    """The address without blanks around it, if it can be that of a server."""
    address = text.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise _refused(_("The address cannot be read.")) from None
    if parts.scheme not in ("http", "https"):
        raise _refused(_("The address does not begin with http:// or https://."))
    if not parts.hostname or port == 0 or not address.isprintable() or " " in address:
        raise _refused(_("The address has no server name."))
    if "@" in parts.netloc:
        raise _refused(_("The address contains a user name or a password. Enter the API key in its own field."))
    if parts.query or parts.fragment:
        raise _refused(_("The address contains “?” or “#”. Remove it and everything after it."))
    return address


def is_same_server(one: str, other: str) -> bool:
    """Whether a key for the one may be sent to the other."""
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.netloc.lower()) == (second.scheme, second.netloc.lower())


def without_credentials(address: str) -> str:
    """The address as it may be shown."""
    return re.sub(r"//[^/@]*@", "//", address)


def _refused(problem: str) -> Refused:
    return Refused("invalid", _("{problem} Example: http://127.0.0.1:11434/v1", problem=problem))
