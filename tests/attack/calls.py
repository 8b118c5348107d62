"""The connections of an attack: to which port, with which frames, and how each ends."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.attack.assault import HOST, LAST_OPAQUE, Call, End
from tests.attack.gathering import Gathering
from tests.attack.hostile_frames import HostileFrames
from tests.attack.ports import Ports


class Calls:
    """Connections to all ports, each with its way to send and to end."""

    def __init__(self, random: Random, frames: HostileFrames, ports: Ports) -> None:
        self._random, self._frames = random, frames
        gathering = Gathering(random)
        kinds: list[tuple[Callable[[int], Call], int, int]] = [
            (self._remoting, ports.main, 56),
            (self._remoting, ports.vip, 10),
            (self._remoting, ports.namesrv, 30),
            (self._replication, ports.ha, 3),
            (self._control, ports.control, 1),
            (gathering.memberships, ports.main, 1),
            (gathering.held_pulls, ports.main, 1),
            (gathering.topics, ports.namesrv, 1),
        ]
        self._kinds = [(make, port) for make, port, _ in kinds]
        self._weights = [weight for _, _, weight in kinds]

    def next_call(self) -> Call:
        ((make, port),) = self._random.choices(self._kinds, self._weights)
        return make(port)

    def _remoting(self, port: int) -> Call:
        random, frames = self._random, self._frames
        requests = random.choice((1, 10, 50, 100, 200, 200, 400))
        sent = [frames.frame() for _ in range(requests)]
        if random.random() < 0.1:
            random.shuffle(sent)
        piece_bytes = random.choice((1 << 17, 1 << 17, 1 << 17, 1 << 14, 1500))
        match random.randrange(20):
            case 0:
                sent.append(frames.broken())
                return Call(port, b"".join(sent), 0, End.CLOSED, piece_bytes)
            case 1:
                sent.append(frames.broken())
                return Call(port, b"".join(sent), 0, End.RESET, piece_bytes)
            case 2:
                return Call(port, b"".join(sent), 0, End.DEAF, piece_bytes)
            case 3:
                sent = sent[:5]
                piece_bytes = random.randint(1, 60)
        sent.append(frames.last(LAST_OPAQUE))
        return Call(port, b"".join(sent), len(sent), End.ANSWERED, piece_bytes)

    def _replication(self, port: int) -> Call:
        random = self._random
        reports = [
            random.choice((0, 1, -1, 2**63 - 1, -(2**63), 10**6, random.getrandbits(40)))
            for _ in range(random.randint(1, 50))
        ]
        data = b"".join(report.to_bytes(8, signed=True) for report in reports)
        if random.random() < 0.5:
            data += random.randbytes(random.randint(1, 3000))
        end = random.choice((End.CLOSED, End.RESET, End.DEAF))
        return Call(port, data, 0, end, random.choice((1 << 17, 7)))

    def _control(self, port: int) -> Call:
        random = self._random
        method = random.choice(("GET", "PUT", "PATCH", "DELETE", "X" * 300))
        path = "/v1/" + random.choice(
            ("topics", "topics/../x", "topics/%2e%2e", "brokers", "clock", "journal?after=-1",
             "topics/\u00e9" * 100, "groups/x/lag", "faults", "snapshots/99999999999999999999")
        )  # fmt: skip
        body = random.choice((b"", b"{}", b"[" * 50_000, b'{"queues": 1e999}', b'{"queues": "x"}'))
        length = random.choice((len(body), len(body) + 10, 0, -1))
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Length: {length}\r\n"
        data = head.encode("utf-8", "replace") + b"Content-Type: application/json\r\n\r\n" + body
        return Call(port, data, 0, random.choice((End.CLOSED, End.RESET)), 1 << 17)
