"""The types that users see: names of codes, help(), and the checkers of a project of theirs."""

from __future__ import annotations

import inspect
import json
import pydoc
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import fakemq
from fakemq.client import AsyncClient, Client
from fakemq.config.option_types import ClusterOptions
from fakemq.config.options import OPTIONS
from fakemq.protocol.code_names import RequestName, ResponseName
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

ROOT = Path(__file__).parents[2]


def test_names_of_codes_are_those_of_the_enums() -> None:
    requests = [*RequestCode.__members__, *RequestCode5.__members__]
    assert {*get_args(RequestName)} == {"send", "pull", *requests}
    assert {*get_args(ResponseName)} == {*ResponseCode.__members__, *ResponseCode5.__members__}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of a user, outside of this checkout, that calls what `user_types` calls."""
    shutil.copy(Path(__file__).with_name("user_types.py"), tmp_path / "shop.py")
    return tmp_path


@pytest.mark.slow  # mypy reads all of fakemq
def test_project_of_a_user_passes_mypy_strict(project: Path) -> None:
    # Silent as of an installed package: the errors of fakemq itself are those of `make lint`.
    lines = ("[mypy]", "strict = True", "follow_imports = silent", f"mypy_path = {ROOT}")
    config = "\n".join([*lines, f"cache_dir = {ROOT}/.cache/mypy_of_users"])
    (project / "mypy.ini").write_text(config)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "shop.py"]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow  # pyright reads all that the project imports
def test_pyright_accepts_the_project_and_refuses_what_mypy_refuses(project: Path) -> None:
    shutil.copy(Path(__file__).with_name("user_type_errors.py"), project / "mistakes.py")
    config = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(ROOT)],
        "reportUnnecessaryTypeIgnoreComment": "error",  # a mistake that is not seen
    }
    (project / "pyrightconfig.json").write_text(json.dumps(config))
    # basedpyright is pyright with its Node in a wheel; the package pyright downloads both later.
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("0 errors, 0 warnings")


@pytest.mark.parametrize("cluster", [fakemq.Cluster, fakemq.AsyncCluster])
def test_help_of_a_cluster_shows_its_options(cluster: type) -> None:
    shown = inspect.signature(cluster)
    assert [*shown.parameters] == [*ClusterOptions.__annotations__]
    assert shown.parameters["masters"].default == 1
    assert str(shown.parameters["clock"]) == "clock: Literal['real', 'frozen'] = 'real'"
    text = pydoc.plain(pydoc.render_doc(cluster))
    for option in OPTIONS:
        assert f"``{option.name}``" in text
    assert "A frozen clock moves only on command." in text
    assert "Unpack" not in text.split("\n |  Method")[0]


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_help_of_a_client_shows_arguments_results_and_meaning(client: type) -> None:
    send = client.send  # type: ignore[attr-defined]  # both have it
    shown = str(inspect.signature(send))
    assert shown.startswith("(self, message: 'Message', *, queue: 'MessageQueue | None' = None")
    assert shown.endswith(" -> SendResult")
    text = pydoc.plain(pydoc.render_doc(send))
    assert "Send a message and return where it was stored." in text
    for name, method in vars(client).items():
        if callable(method) and not name.startswith("_"):
            assert method.__doc__, name
            assert "-> Operation[" not in str(inspect.signature(method)), name
