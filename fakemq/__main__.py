"""``python -m fakemq``: see ``fakemq.cli``."""

from __future__ import annotations

import sys

try:
    from fakemq.cli import main
except MemoryError:
    sys.exit("Error: no memory is left for the modules of fakemq; raise its limit (ulimit -v)")

if __name__ == "__main__":
    main(prog_name="python -m fakemq")
