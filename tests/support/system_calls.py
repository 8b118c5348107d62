"""The system calls that change files below a folder, each of which a test can refuse or count."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.support.recorded_disk import CHANGES, SYNCS

Before = Callable[[str, str], None]
"""Called with the name of a call and the path that it changes; what it raises, the call raises."""


@contextmanager
def watched(root: str, before: Before) -> Iterator[None]:
    """Call ``before`` ahead of each call of this process that changes a file below ``root``.

    An ``open`` counts if it may write.
    """
    root = os.path.join(root, "")

    def wrapped(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def run(target: int | str, *rest: object, **named: object) -> object:
            path = _path_of(target) if isinstance(target, int) else os.fspath(target)
            writes = name != "open" or _may_write(rest)
            if writes and os.path.join(path, "").startswith(root):
                before(name, path)
            return call(target, *rest, **named)

        return run

    with ExitStack() as patches:
        for name in ("open", *CHANGES, *SYNCS):
            call = wrapped(name, getattr(os, name))
            patches.enter_context(patch.object(os, name, call))
        yield


def _path_of(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _may_write(rest: tuple[object, ...]) -> bool:
    flags = rest[0] if rest else 0
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
