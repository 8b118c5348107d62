"""Record the configs that a real cluster shows: ``python -m conformance.capture.config_answers``.

The nodes have nearly no config of their own, so that their answers are defaults. What belongs to
the machine gets a name: the folder of a node, its port, and that of the name server.
``--reference 5.5.0`` does it with that release.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import SMALL_JVM, JavaBroker, JavaNode
from conformance.targets.java_jars import REFERENCE, REFERENCES
from conformance.wire.raw import call, frame, split

FURTHER = {"myOwnKey": "1", "zebra": "a b", "anEmptyOne": "", "rmqAddressServerSubGroup": "mine"}
"""Keys of a file that no config object has."""
UPDATE = b"myOwnKey=2\nunheard=3\n"
DATA = Path(__file__).parents[2] / "tests" / "config" / "data"
GET_BROKER_CONFIG, UPDATE_BROKER_CONFIG, GET_NAMESRV_CONFIG = 26, 25, 319
HEAD = """\
# What a {node} of RocketMQ {reference} answers to {request}, in its order, written by
# `python -m conformance.capture.config_answers`; do not edit.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.capture.config_answers")
    parser.add_argument("--reference", choices=REFERENCES, default=REFERENCE)
    reference: str = parser.parse_args().reference

    def write(node: str, request: str, code: int, asked: JavaNode) -> None:
        path = DATA / f"{file_name(node, reference)}.txt"
        head = HEAD.format(node=node, reference=reference, request=request)
        path.write_text(head + answer(code, asked, name_server), encoding="utf-8")
        print(f"{path.name}: {len(path.read_text(encoding='utf-8').splitlines())} lines")

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        name_server = JavaNode(
            "namesrv",
            root / "namesrv",
            "org.apache.rocketmq.namesrv.NamesrvStartup",
            free_port(),
            SMALL_JVM,
            reference,
        )
        name_server.config = {"listenPort": str(name_server.port)}
        name_server.start()
        broker = JavaBroker("broker-a", root / "broker-a", name_server, SMALL_JVM, reference)
        kept = ("brokerName", "brokerIP1", "brokerIP2", "namesrvAddr", "listenPort")
        broker.config = {key: broker.config[key] for key in kept}
        try:
            broker.start()
            write("broker", "GET_BROKER_CONFIG", GET_BROKER_CONFIG, broker)
            write("name server", "GET_NAMESRV_CONFIG", GET_NAMESRV_CONFIG, name_server)
            broker.kill()
            broker.config |= FURTHER
            broker.start()
            call(broker.addr, frame(UPDATE_BROKER_CONFIG, {}, UPDATE))
            node = "broker with further keys"
            write(node, "GET_BROKER_CONFIG", GET_BROKER_CONFIG, broker)
        finally:
            broker.kill()
            name_server.kill()


def file_name(node: str, reference: str) -> str:
    """Return the name of the file that keeps an answer, without its ending."""
    later = "" if reference == REFERENCE else f"_{reference}"
    return f"java_{node.replace(' ', '_')}_config{later}"


def answer(code: int, asked: JavaNode, name_server: JavaNode) -> str:
    """Ask a node; return its answer without what belongs to the machine."""
    _, _, body = split(call(asked.addr, frame(code, {})))
    text = body.decode().replace(str(asked.home), "<home>")
    text = text.replace(f"127.0.0.1:{name_server.port}", "<name server>")
    for port, name in ((asked.port, "<port>"), (asked.port + 1, "<port + 1>")):
        text = text.replace(f"={port}\n", f"={name}\n")
    return text


if __name__ == "__main__":
    main()
