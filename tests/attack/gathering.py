"""Connections that gather state by short requests, and then end: all of it goes at once."""

from __future__ import annotations

import json
from random import Random

from conformance.wire import requests
from fakemq.protocol.codes import RequestCode
from tests.attack.assault import Call, End
from tests.attack.hostile_frames import Form

HEARTBEATS, GROUPS = 10, 300
"""How many heartbeats a connection sends, and how many groups each names."""
PULLS, TOPICS = 2_000, 5_000
TOPIC = "gathered"


class Gathering:
    """Makes such calls. Their names are of no honest client."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _call(self, port: int, forms: list[Form]) -> Call:
        frames = [form.json_frame() for form in forms]
        end = self._random.choice((End.CLOSED, End.RESET))
        return Call(port, b"".join(frames), 0, end)

    def memberships(self, port: int) -> Call:
        """Be in thousands of groups, of which other connections are members, too."""
        forms = []
        for number in range(HEARTBEATS):
            names = [f"{TOPIC}-{number}-{group}" for group in range(GROUPS)]
            body = requests.heartbeat(f"client-{self._random.random()}", names[0], TOPIC)
            one = body["consumerDataSet"][0]  # type: ignore[index]
            body["consumerDataSet"] = [one | {"groupName": name} for name in names[:50]]
            body["producerDataSet"] = [{"groupName": name} for name in names]
            forms.append(Form(RequestCode.HEART_BEAT, {}, json.dumps(body).encode(), opaque=number))
        return self._call(port, forms)

    def held_pulls(self, port: int) -> Call:
        """Let thousands of pulls wait for messages of one queue."""
        fields = requests.pull_fields(
            "TBW102",
            offset=2**40,
            consumerGroup=TOPIC,
            sysFlag=requests.HELD,
            suspendTimeoutMillis=20_000,
            subscription="*",
        )
        forms = [Form(RequestCode.PULL_MESSAGE, fields, opaque=one) for one in range(PULLS)]
        return self._call(port, forms)

    def topics(self, port: int) -> Call:
        """Register a broker with thousands of topics, whose connection then ends."""
        name = f"{TOPIC}-{self._random.randrange(5)}"
        configs = {
            f"{name}-{number}": {
                "order": False,
                "perm": 6,
                "readQueueNums": 4,
                "topicFilterType": "SINGLE_TAG",
                "topicName": f"{name}-{number}",
                "topicSysFlag": 0,
                "writeQueueNums": 4,
            }
            for number in range(TOPICS)
        }
        content = {
            "filterServerList": [],
            "topicConfigSerializeWrapper": {
                "dataVersion": {"counter": self._random.randrange(1_000), "timestamp": 1},
                "topicConfigTable": configs,
            },
        }
        fields = {
            "brokerName": name,
            "brokerAddr": f"{name}:1",
            "clusterName": TOPIC,
            "haServerAddr": f"{name}:2",
            "brokerId": "0",
            "compressed": "false",
            "bodyCrc32": "0",
        }
        return self._call(
            port, [Form(RequestCode.REGISTER_BROKER, fields, json.dumps(content).encode())]
        )
