"""How brokers register at a name server, seen from brokers of the scenario's own."""

from __future__ import annotations

import json
import struct
import zlib

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.peer import Body
from fakemq.protocol.codes import RequestCode

CLUSTER = "SRawCluster"
MASTER = "10.0.0.1:10911"
SLAVE = "10.0.0.2:10911"
LONG_AGO_MS = 1_100_000_000_000
BEFORE_REGISTER_BODY = 36
"""The version before V3_0_11, from which on a RegisterBrokerBody is sent."""


def topics(
    *names: str, counter: int = 1, queues: int = 4, perm: int = 6
) -> dict[str, dict[str, object] | list[object]]:
    """A RegisterBrokerBody."""
    table = {
        name: {
            "order": False,
            "perm": perm,
            "readQueueNums": queues,
            "topicFilterType": "SINGLE_TAG",
            "topicName": name,
            "topicSysFlag": 0,
            "writeQueueNums": queues,
        }
        for name in names
    }
    version = {"counter": counter, "timestamp": LONG_AGO_MS}
    wrapper = {"dataVersion": version, "topicConfigTable": table}
    return {"filterServerList": [], "topicConfigSerializeWrapper": wrapper}


def register(
    name: str, addr: str = MASTER, broker_id: int = 0, **more: object
) -> dict[str, object]:
    """Return the fields of REGISTER_BROKER."""
    host = addr.partition(":")[0]
    return {
        "brokerName": name,
        "brokerAddr": addr,
        "clusterName": CLUSTER,
        "haServerAddr": f"{host}:10912",
        "brokerId": broker_id,
        "compressed": False,
        "bodyCrc32": 0,
    }


def unregister(name: str, addr: str = MASTER, broker_id: int = 0) -> dict[str, object]:
    """Return the fields of UNREGISTER_BROKER."""
    return {
        "brokerName": name,
        "brokerAddr": addr,
        "clusterName": CLUSTER,
        "brokerId": broker_id,
    }


def ask_route(run: Run, topic: str) -> None:
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})


def brokers_of(run: Run, topic: str) -> list[int]:
    """Return the ids of the brokers in the name server's route of a topic."""
    route = run.client.update_route(topic)
    return [] if route is None else [one for b in route.data.broker_datas for one in b.broker_addrs]


@scenario("registration: a master and its slave, leaving one after the other")
def register_master_and_slave(run: Run) -> None:
    def say(name: str, fields: dict[str, object], body: Body | None = None) -> None:
        code = RequestCode.REGISTER_BROKER if body else RequestCode.UNREGISTER_BROKER
        run.ask("namesrv", code, fields, body or b"", peer=name)

    run.note("a slave that comes first gets no master's address, and its topics are not routed")
    say("slave", register("SRaw", SLAVE, 1), topics("SRawTopic"))
    ask_route(run, "SRawTopic")
    say("master", register("SRaw"), topics("SRawTopic"))
    ask_route(run, "SRawTopic")
    run.note("now the slave gets its master's address")
    say("slave", register("SRaw", SLAVE, 1), topics("SRawTopic"))
    ask_route(run, "SRawTopic")
    run.note("without its master a slave still keeps its topics routed")
    say("master", unregister("SRaw"))
    ask_route(run, "SRawTopic")
    say("slave", unregister("SRaw", SLAVE, 1))
    ask_route(run, "SRawTopic")
    run.note("twice does no harm")
    say("slave", unregister("SRaw", SLAVE, 1))


@scenario("registration: what is taken over, by data version")
def registration_by_version(run: Run) -> None:
    def say(body: Body, **more: object) -> None:
        fields = register("SVersions") | more
        run.ask("namesrv", RequestCode.REGISTER_BROKER, fields, body, peer="master")

    say(topics("SFirst", queues=4))
    ask_route(run, "SFirst")
    run.note("the same version: nothing is looked at")
    say(topics("SFirst", queues=8))
    ask_route(run, "SFirst")
    run.note("another version: taken over; a topic that is missing now stays nevertheless")
    say(topics("SSecond", queues=8, counter=2))
    ask_route(run, "SFirst")
    ask_route(run, "SSecond")
    run.note("asking whether a version is known")
    unregistering = unregister("SVersions")
    for counter in (2, 3):
        version = {"counter": counter, "timestamp": LONG_AGO_MS}
        run.ask("namesrv", RequestCode.QUERY_DATA_VERSION, unregistering, version, peer="master")
    run.note("a body whose CRC is wrong")
    say(topics("SThird", counter=3), bodyCrc32=1)
    ask_route(run, "SThird")
    run.note("a body with its CRC, compressed")
    body = compressed("SThird", counter=3)
    say(body, compressed=True, bodyCrc32=zlib.crc32(body) & 0x7FFFFFFF)
    ask_route(run, "SThird")
    run.note("a broker from before V3_0_11 sends the topics alone")
    wrapper = topics("SFourth", counter=4)["topicConfigSerializeWrapper"]
    run.ask(
        "namesrv",
        RequestCode.REGISTER_BROKER,
        register("SVersions"),
        wrapper,
        peer="master",
        version=BEFORE_REGISTER_BODY,
    )
    ask_route(run, "SFourth")
    run.ask("namesrv", RequestCode.UNREGISTER_BROKER, unregistering, peer="master")


@scenario("registration: an address that changes its id, and a connection that ends")
def registration_switch(run: Run) -> None:
    run.note("a slave becomes master: its old id is gone")
    run.ask(
        "namesrv",
        RequestCode.REGISTER_BROKER,
        register("SSwitch", SLAVE, 1),
        topics("SSwitchTopic"),
        peer="switcher",
    )
    run.ask(
        "namesrv",
        RequestCode.REGISTER_BROKER,
        register("SSwitch", SLAVE, 0),
        topics("SSwitchTopic", counter=2),
        peer="switcher",
    )
    ask_route(run, "SSwitchTopic")
    run.note("its connection ends: it is removed at once")
    run.hang_up("switcher", "namesrv")
    run.until(lambda: run.client.update_route("SSwitchTopic") is None, "the end of the route")
    ask_route(run, "SSwitchTopic")


def compressed(*names: str, counter: int) -> bytes:
    """Return the compressed form of `topics`."""
    version = json.dumps({"counter": counter, "timestamp": LONG_AGO_MS}).encode()
    parts = [version, *(f"{name} 4 4 6 SINGLE_TAG".encode() for name in names), b"[]"]
    sized = [struct.pack(">i", len(one)) + one for one in parts]
    return zlib.compress(b"".join([sized[0], struct.pack(">i", len(names)), *sized[1:]]))
