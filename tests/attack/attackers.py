"""``python -m tests.attack.attackers PORTS SEED SECONDS``: attack a cluster for a while.

It is a process of its own beside the cluster. PORTS is `Ports` as JSON. The attackers use no power
that a peer has by right, so an honest client beside them must not fail. The last line of stdout is
the number of requests that were handled; each line before it is a finding.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import msgspec

from tests.attack.assault import Assault
from tests.attack.calls import Calls
from tests.attack.hostile_frames import HostileFrames
from tests.attack.hostile_names import HostileNames
from tests.attack.ports import Ports


def main(ports: Ports, seed: int, seconds: float) -> None:
    """Attack for ``seconds`` of real time."""
    random = Random(f"attackers {seed}")
    names = HostileNames(seed, Path("pwned"))
    frames = HostileFrames(random, names, [0], spares_all=True)
    assault = Assault(Calls(random, frames, ports).next_call)
    until_s = time.monotonic() + seconds
    assault.run(lambda: time.monotonic() >= until_s)
    print(*assault.findings, assault.handled, sep="\n")


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Ports), int(sys.argv[2]), float(sys.argv[3]))
