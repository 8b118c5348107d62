from __future__ import annotations

import pytest

from fakemq.broker.perm import is_inherited, is_readable, is_writeable, perm_text


@pytest.mark.parametrize(
    ("perm", "text"), [(0, "---"), (1, "--X"), (2, "-W-"), (4, "R--"), (6, "RW-"), (7, "RWX")]
)
def test_perms_print_as_javas_do(perm: int, text: str) -> None:
    assert perm_text(perm) == text
    assert (is_readable(perm), is_writeable(perm), is_inherited(perm)) == tuple(
        letter != "-" for letter in text
    )
