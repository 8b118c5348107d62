"""``python -m fakemq`` in the folder above a clone that is named ``fakemq``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fakemq

PACKAGE = Path(fakemq.__file__).parent

EDITABLE = """
import importlib.machinery, importlib.util, runpy, sys
package, folder_of_package, *args = sys.argv[1:]

class Editable:
    "Finds the package after the folders of sys.path, as the finder of an editable install does."

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "fakemq":
            return importlib.util.spec_from_file_location(
                name, f"{package}/__init__.py", submodule_search_locations=[package]
            )
        if name.startswith("fakemq."):
            return importlib.machinery.PathFinder.find_spec(name, [package])

sys.path[:] = [one for one in sys.path if one != folder_of_package]
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in repr(one).lower()]
sys.meta_path.append(Editable)
sys.argv[1:] = args
runpy.run_module("fakemq", run_name="__main__", alter_sys=True)
"""


def test_clone_is_not_taken_for_the_package(tmp_path: Path) -> None:
    (tmp_path / "fakemq" / "fakemq").mkdir(parents=True)  # a clone, as Python sees it
    command = [sys.executable, "-c", EDITABLE, str(PACKAGE), str(PACKAGE.parent), "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"fakemq {fakemq.__version__}, ")
