"""The throw-away authority and its folder."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fakemq.errors import ConfigError, FakemqError
from fakemq.tls.authority import Authority


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_close_deletes_the_files(folder: Path) -> None:
    authority = Authority(["localhost"])
    assert os.listdir(folder) == [os.path.basename(authority.directory)]
    authority.close()
    authority.close()
    assert os.listdir(folder) == []


def test_full_disk_leaves_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Authority, name: str, content: bytes) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Authority, "_write", fail)
    with pytest.raises(FakemqError, match="folder for TLS certificates: No space left"):
        Authority(["localhost"])
    assert os.listdir(folder) == []


def test_exit_without_a_stop_deletes_the_files(folder: Path) -> None:
    program = "import fakemq; mq = fakemq.Cluster().start(); print(mq.tls.ca_file)"
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60)
    assert os.path.dirname(ended.stdout).startswith(f"{folder}/fakemq-tls-")
    assert os.listdir(folder) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_exit_of_a_forked_child_leaves_the_files(folder: Path) -> None:
    program = """
import os, sys
from fakemq.tls.authority import Authority
authority = Authority(["localhost"])
child = os.fork()
if child == 0:
    sys.exit()
os.waitpid(child, 0)
assert os.path.exists(authority.ca_path)
"""
    environment = {**os.environ, "TMPDIR": str(folder)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    assert os.listdir(folder) == []


def test_missing_extra_is_named_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)
    with pytest.raises(ConfigError) as caught:
        Authority(["localhost"])
    assert str(caught.value) == (
        "TLS without certificates of your own needs an extra that is not installed:"
        " pip install 'fakemq[tls]'; or name your certificates in tls_config"
    )
