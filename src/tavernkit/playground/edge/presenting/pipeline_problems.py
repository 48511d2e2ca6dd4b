"""Telling open pages what is followed around their conversations.

A space, and even more a person, may have thousands of conversations, of which a handful are open. So nothing is written
into each: it is said once where the pages listen, and a page that has missed it looks again when it is back.
"""

from __future__ import annotations
