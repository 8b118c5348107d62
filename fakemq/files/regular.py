"""Opens the files of users' directories: a regular file, or an error that says what is there.

Another program may have put anything at a path. The open of a pipe waits for its other end, the
reads of a device may never end, and a name that is not UTF-8 cannot be printed or sent.
"""

from __future__ import annotations

import errno
import os
import stat

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: str, flags: int, mode: int = 0o644) -> int:
    """Return a descriptor of a regular file; `open` takes this function as its ``opener``.

    Raise OSError as `os.open` and `require_regular` do.
    """
    require_regular(path)
    # Another program may replace the file at this moment: even then the open does not wait.
    return os.open(path, flags | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0), mode)


def write_regular(path: str, data: bytes, mode: int = 0o644) -> None:
    """Write a file anew; a kill may leave a part of it, so write beside a file and rename.

    Raise OSError as `open_regular` does.
    """
    number = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(number, left) :]
    finally:
        os.close(number)


def open_at_once(path: str, flags: int, mode: int = 0o644) -> int:
    """Return a descriptor of what is at a path, a device too; an ``opener`` like `open_regular`.

    Raise OSError as `os.open` does, and for a named pipe that no program reads.
    """
    try:
        number = os.open(path, flags | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0), mode)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise OSError(errno.ENXIO, "Is a named pipe that no program reads", path) from None
    os.set_blocking(number, True)
    return number


def require_regular(path: str) -> None:
    """Raise OSError if something else than a regular file is at a path; nothing may be there.

    A link counts as the file that it leads to.
    """
    require_utf8(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if not os.path.islink(path):
            return
        raise FileNotFoundError(
            errno.ENOENT, "Is a link to nothing, not a regular file", path
        ) from None
    except NotADirectoryError:
        return  # a folder before it: the open itself names the reason
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind is not None:
        number = errno.EISDIR if kind == "a directory" else errno.EINVAL
        raise OSError(number, f"Is {kind}, not a regular file", path)


def require_utf8(path: str) -> None:
    """Raise OSError for a path that is not UTF-8; Python shows its bytes as half pairs."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "The name is not UTF-8", path) from None
