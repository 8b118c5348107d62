"""Names that may be folders: no text from outside becomes a part of a path before it is checked.

A topic, a group and a broker's name come from peers, logs, images and configs. The code that makes
a path of such a text takes a `FolderName`, and only `folder_name` makes one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NewType

FolderName = NewType("FolderName", str)
"""A text that is one component of a path, and names nothing outside its folder."""

NAME_MAX_BYTES = 255
"""The most bytes, as UTF-8, that file systems allow for one component of a path."""
_MOST_SHOWN = 60


class FolderNameError(ValueError):
    """No folder can have the name; the text quotes the name and says why."""

    def __init__(self, name: str, why: str) -> None:
        shown = repr(name) if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]!r}…"
        super().__init__(f"{shown} cannot be the name of a folder: {why}")


@lru_cache(maxsize=4096)
def folder_name(name: str) -> FolderName:
    """Return a name that a folder can have; raise FolderNameError for any other.

    Case counts, and a backslash is a character like others: the systems that fakemq runs on read
    names so.
    """
    if name in ("", ".", ".."):
        raise FolderNameError(name, "it is empty" if not name else "it means another folder")
    for char, called in (("/", "a slash"), ("\0", "a NUL character")):
        if char in name:
            raise FolderNameError(name, f"it contains {called}")
    try:
        size_bytes = len(name.encode())
    except UnicodeEncodeError:
        raise FolderNameError(name, "it contains half a surrogate pair") from None
    if size_bytes > NAME_MAX_BYTES:
        raise FolderNameError(name, f"it has {size_bytes} bytes, more than {NAME_MAX_BYTES}")
    return FolderName(name)
