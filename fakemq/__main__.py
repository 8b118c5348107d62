"""``python -m fakemq``: see ``fakemq.cli``."""

from __future__ import annotations

from fakemq.cli import main

if __name__ == "__main__":
    main(prog_name="python -m fakemq")
