"""The bits of a topic's or a broker's permission.

Source: common/constant/PermName.java (4.9.7)
"""

from __future__ import annotations

PERM_READ = 4
PERM_WRITE = 2
PERM_INHERIT = 1


def is_readable(perm: int) -> bool:
    return perm & PERM_READ != 0


def is_writeable(perm: int) -> bool:
    return perm & PERM_WRITE != 0


def is_inherited(perm: int) -> bool:
    return perm & PERM_INHERIT != 0


def perm_text(perm: int) -> str:
    """As Java prints it: ``RW-``, ``RWX``."""
    return "".join(
        letter if perm & bit else "-"
        for letter, bit in (("R", PERM_READ), ("W", PERM_WRITE), ("X", PERM_INHERIT))
    )
