"""Which texts may be the name of a folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakemq.files.folder_names import NAME_MAX_BYTES, FolderNameError, folder_name

ODD_TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("./\\\0\ud800")), max_size=300)


@given(ODD_TEXTS)
@example("é" * 127)
@example("..")
def test_every_accepted_name_is_one_folder_below(name: str) -> None:
    try:
        checked = folder_name(name)
    except FolderNameError:
        return
    assert checked == name
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "top", checked, "0"))
        assert os.listdir(root) == ["top"]
        assert os.listdir(os.path.join(root, "top")) == [name]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is empty"),
        (".", "it means another folder"),
        ("..", "it means another folder"),
        ("a/b", "it contains a slash"),
        ("/", "it contains a slash"),
        ("a\0", "it contains a NUL character"),
        ("a\ud800", "it contains half a surrogate pair"),
        ("é" * 128, f"it has 256 bytes, more than {NAME_MAX_BYTES}"),
    ],
)
def test_name_is_refused_when_no_folder_can_have_it(name: str, why: str) -> None:
    with pytest.raises(FolderNameError, match=why):
        folder_name(name)


@pytest.mark.parametrize("name", ["a\\b", "...", ".hidden", " ", "é" * 127, "%RETRY%é", "a b\n"])
def test_name_is_accepted_when_systems_take_it(name: str, tmp_path: Path) -> None:
    (tmp_path / folder_name(name)).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_names_that_differ_in_case_are_two() -> None:
    assert folder_name("Orders") != folder_name("orders")
