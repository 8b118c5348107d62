"""A client process that is killed within a request."""

from __future__ import annotations

import subprocess
import sys

import fakemq
from fakemq.client import Producer

CLIENT = """
import os, socket, struct, sys, time
host, port = sys.argv[1].split(":")
header = b'{"code":310,"language":"JAVA","version":401,"opaque":1,"flag":0,"extFields":{}}'
body = os.urandom(4 << 20)
frame = struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body
sock = socket.create_connection((host, int(port)))
sock.sendall(frame[: len(frame) // 2])
print(len(frame) // 2, flush=True)
time.sleep(60)
"""


def test_client_killed_within_a_send_costs_one_warning() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq, Producer(mq.namesrv_addr, group="g") as other:
        other.send("orders", "before")
        command = [sys.executable, "-c", CLIENT, mq.broker("broker-a").addr]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            size_bytes = int(client.stdout.readline())
            client.kill()
        mq.wait_for(lambda: mq.journal.find("Warned"), timeout="30s")
        other.send("orders", "after")
        (warned,) = mq.journal.find("Warned")
        assert f"ended within a frame, of which {size_bytes} bytes had arrived" in str(warned)
        assert [one.body for one in mq.messages("orders")] == [b"before", b"after"]
