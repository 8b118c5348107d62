"""``python -m fakemq``: see ``fakemq.cli``."""

from __future__ import annotations

import os.path
import sys

_found = sys.modules.get("fakemq")
if _found is not None and getattr(_found, "__file__", None) is None:
    # In the folder above a clone that is named fakemq Python takes the clone's folder for the
    # package, and not an editable install, which it looks for last. Look again without that folder.
    _above = {os.path.dirname(folder) for folder in _found.__path__}
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) not in _above]
    del sys.modules["fakemq"]

try:
    from fakemq.cli import main
except MemoryError:
    sys.exit("Error: no memory is left for the modules of fakemq; raise its limit (ulimit -v)")

if __name__ == "__main__":
    main(prog_name="python -m fakemq")
