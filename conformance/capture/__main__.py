"""Records golden bytes from a real 4.9.7 cluster: ``python -m conformance.capture FOLDER``.

Frames of a raw client and the answers (JSON and binary headers), the smallest frames of a kind of
Java clients and of a broker registering, and the store of a master that was stopped cleanly.
"""

from __future__ import annotations

import getpass
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from conformance.capture.queries import query_requests
from conformance.capture.requests import TOPIC, Ask, broker_requests, namesrv_requests
from conformance.drivers.java_program import observe
from conformance.targets.java_cluster import JavaBroker, JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS, REFERENCE
from conformance.wire.raw import RawConnection, binary_frame, frame
from conformance.wire.recording_proxy import Recorded, RecordingProxy, summary

Lines = list[str]

FRAMES_README = """\
Bytes of real RocketMQ, written by `python -m conformance.capture`; do not edit.

Lines are `NAME WAY HEX`: `>` a request, `<` the answer, `<!` a request of the broker's own, sent to
the client on the same connection; `-` stands for no answer. NAME is the request code's name (what
is particular after a dot; `/N` is the code of a Java client's answer).

"""
SETTLE_S = 0.15
"""Sends reach the consume queue, and one-way requests their thread, a moment after their answer."""


def ask_all(address: str, asks: Iterable[Ask], build: Callable[..., bytes]) -> Lines:
    """Ask in order on one connection and keep the bytes of both sides."""
    lines: Lines = []
    with RawConnection(address, timeout=3.0) as connection:
        for opaque, ask in enumerate(asks, 1):
            whole = build(
                ask.code, ask.fields, ask.body, opaque=opaque, flag=ask.flag, version=ask.version
            )
            lines.append(f"{ask.name} > {whole.hex()}")
            connection.send(whole)
            if ask.flag == 0:
                lines += answers(connection, ask.name, opaque)
            time.sleep(SETTLE_S)
    return lines


def answers(connection: RawConnection, name: str, opaque: int) -> Lines:
    """Return the answer to ``opaque``, behind whatever the broker says before it."""
    lines: Lines = []
    while True:
        try:
            whole = connection.receive()
        except TimeoutError:
            return [*lines, f"{name} < -"]
        header = summary(whole)
        if header.is_response and header.opaque == opaque:
            return [*lines, f"{name} < {whole.hex()}"]
        lines.append(f"{name} <! {whole.hex()}")


def code_names() -> dict[int, str]:
    asks = [*broker_requests(), *query_requests(), *namesrv_requests()]
    names = {ask.code: ask.name.partition(".")[0] for ask in reversed(asks)}
    return names | {40: "NOTIFY_CONSUMER_IDS_CHANGED"}


def kinds(recorded: Sequence[Recorded]) -> Lines:
    """One frame of each kind: the first under 4 KiB, else the smallest."""
    names = code_names()
    asked: dict[tuple[int, bool, int], str] = {}
    found: dict[str, list[bytes]] = {}
    for connection, to_server, whole in recorded:
        header = summary(whole)
        if header.is_response:
            name = asked.get((connection, not to_server, header.opaque), "unknown")
            kind = f"{name}/{header.code} {'>' if to_server else '<'}"
        else:
            name = names.get(header.code, f"code_{header.code}")
            asked[connection, to_server, header.opaque] = name
            kind = f"{name}{'.oneway' if header.is_oneway else ''} {'>' if to_server else '<!'}"
        found.setdefault(kind, []).append(whole)
    return [f"{kind} {choice(frames).hex()}" for kind, frames in sorted(found.items())]


def choice(frames: Sequence[bytes]) -> bytes:
    return next((whole for whole in frames if len(whole) < 4096), min(frames, key=len))


def java_clients(cluster: JavaCluster) -> dict[str, Lines]:
    """Return what Java clients say when led over proxies by rewritten routes."""
    captured = {}
    for version, binary in [(v, b) for v in CLIENT_VERSIONS for b in (False, True)]:
        with ExitStack() as stack:
            namesrv = stack.enter_context(RecordingProxy(cluster.namesrv_addr))
            brokers = [stack.enter_context(RecordingProxy(b.addr)) for b in cluster.brokers]
            for broker, proxy in zip(cluster.brokers, brokers, strict=True):
                namesrv.rewrite[broker.addr.encode()] = proxy.addr.encode()
            # Not "sync": it also uses the VIP port, which has no proxy.
            for scenario in ("async", "oneway", "batch", "push", "orderly", "pull", "offsets"):
                observe(namesrv.addr, scenario, version, binary=binary)
            frames = [kinds(proxy.recorded) for proxy in (namesrv, brokers[0])]
        captured[f"java_{version}_client{'_binary' if binary else ''}"] = frames[0] + frames[1]
    return captured


def registration(cluster: JavaCluster, broker: JavaBroker) -> Lines:
    """A master that leaves, comes back and registers over a proxy, plain and compressed."""
    lines = []
    for compressed in ("false", "true"):
        with RecordingProxy(cluster.namesrv_addr) as proxy:
            broker.stop()
            broker.config |= {"namesrvAddr": proxy.addr, "compressedRegister": compressed}
            broker.start()
            broker.stop()
            mark = ".compressed" if compressed == "true" else ""
            lines += [line.replace(" ", f"{mark} ", 1) for line in kinds(proxy.recorded)]
    return lines


def store_files(broker: JavaBroker) -> dict[str, bytes]:
    """The store of a stopped master; logs and queues without the zeros behind their last entry."""
    files = {}
    for path in sorted(broker.store.rglob("*")):
        name = path.relative_to(broker.store).as_posix()
        if path.is_file() and name != "lock":
            data = path.read_bytes()
            files[name] = data if path.parent.name == "config" else data.rstrip(b"\0")
    # An entry may end in zeros of its own.
    for name, data in files.items():
        if name.startswith("consumequeue/"):
            files[name] = data + b"\0" * (-len(data) % 20)
    files["checkpoint"] = files["checkpoint"].ljust(24, b"\0")
    return {name: data for name, data in files.items() if data}


def capture() -> dict[str, bytes]:
    """All files by name."""
    frames: dict[str, Lines] = {}
    small = {"maxHashSlotNum": "64", "maxIndexNum": "256"}
    with JavaCluster(masters=1, config=small) as cluster:
        frames["namesrv"] = ask_all(cluster.namesrv_addr, namesrv_requests(), frame)
        broker = cluster.broker("broker-a")
        frames["broker"] = ask_all(broker.addr, broker_requests(), frame)
        with RawConnection(f"[::1]:{broker.port}") as over_ipv6:
            asks = [ask for ask in broker_requests() if ask.name.startswith("SEND_MESSAGE.rich")]
            over_ipv6.call(frame(asks[0].code, asks[0].fields, b"born on IPv6"))
        broker.stop()
        store = store_files(broker)
        kv = (cluster.namesrv.home / "kvConfig.json").read_bytes()
    with JavaCluster(masters=2, config=small) as cluster:
        addr = cluster.broker("broker-a").addr
        frames["broker_queries"] = ask_all(addr, query_requests(), frame)
        frames["namesrv_binary"] = ask_all(cluster.namesrv_addr, namesrv_requests(), binary_frame)
        frames["broker_binary"] = ask_all(addr, broker_requests(), binary_frame)
        frames |= java_clients(cluster)
        frames["broker_registers"] = registration(cluster, cluster.broker("broker-a"))
    files = {f"{name}.txt": "\n".join(lines).encode() + b"\n" for name, lines in frames.items()}
    files |= {f"store/{name}": data for name, data in store.items()}
    return files | {"kvConfig.json": kv}


def provenance(name: str) -> str:
    """One line on where a file comes from."""
    stem = name.removesuffix(".txt")
    if name.startswith("store/"):
        return "a 4.9.7 master's store after broker.txt and a clean stop; trailing zeros cut"
    if stem.startswith("java_"):
        version = stem.split("_")[1]
        headers = "binary" if stem.endswith("binary") else "JSON"
        return f"a Java {version} client, {headers} headers, with a 4.9.7 cluster over a proxy"
    if name == "kvConfig.json":
        return "written by the 4.9.7 name server during namesrv.txt"
    if stem == "broker_queries":
        return "requests by conformance/capture/queries.py, JSON headers; a 4.9.7 master"
    if stem == "broker_registers":
        return "a 4.9.7 master registering at and leaving a 4.9.7 name server, over a proxy"
    server = "name server" if stem.startswith("namesrv") else f"master, topic {TOPIC}"
    headers = "binary" if stem.endswith("binary") else "JSON"
    return f"requests by conformance/capture/requests.py, {headers} headers; a 4.9.7 {server}"


def machine_names(files: dict[str, bytes]) -> list[str]:
    """Files that name this machine or its user, readable or as hex."""
    bad = []
    for word in (socket.gethostname(), getpass.getuser(), str(Path.home())):
        pattern = re.compile(rb"(?<![A-Za-z0-9])" + re.escape(word.encode()) + rb"(?![A-Za-z0-9])")
        for name, data in files.items():
            texts = [data]
            if name.endswith(".txt"):
                texts = [
                    bytes.fromhex(line.split()[2].replace("-", ""))
                    for line in data.decode().splitlines()
                ]
            if any(pattern.search(text) for text in texts):
                bad.append(f"{word!r} in {name}")
    return bad


def main() -> None:
    folder = Path(sys.argv[1])
    files = capture()
    if bad := machine_names(files):
        sys.exit(f"nothing written: {', '.join(bad)}")
    index = [f"{name}: {provenance(name)}" for name in sorted(files)]
    files["README.txt"] = (FRAMES_README + "\n".join(index) + "\n").encode()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(files)} files, {sum(map(len, files.values()))} bytes, {REFERENCE}")


if __name__ == "__main__":
    main()
