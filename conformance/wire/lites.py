"""Requests of lite topics, as a proxy of 5.5.0 fills them, and what a scenario prepares.

``**more`` replaces fields and adds others, as in `requests`.

Source: remoting/protocol/header/PopLiteMessageRequestHeader.java, common/lite/LiteUtil.java,
common/lite/LiteSubscriptionDTO.java (5.5.0)
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from conformance.run import Run
from conformance.wire.peer import Answer
from conformance.wire.pops import Handle
from conformance.wire.raw import create_topic
from conformance.wire.requests import UNIQUE_ID, properties, send_v2_fields
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import decode_records
from fakemq.protocol.properties import decode_properties
from fakemq.protocol.v5.codes import RequestCode5

LITE = {"enableLmq": "true", "enableMultiDispatch": "true"}
"""A config of brokers with lite topics."""
INVISIBLE_MS = 60_000
LITE_TOPIC = "__LITE_TOPIC"


def client_of(group: str, name: str = "client") -> str:
    """Return the id of a client: brokers know what it subscribes to by its id alone."""
    return f"{name}-of-{group}"


def queue_of(parent: str, lite: str) -> str:
    """Return the name of the light queue of a lite topic."""
    return f"%LMQ%${parent}${lite}"


def lite_topic(run: Run, name: str, queues: int = 1, **attributes: str) -> str:
    """Create a topic for lite topics at broker-a; return its name.

    ``attributes`` have ``_`` in place of dots.
    """
    given = {"message.type": "LITE"} | {
        key.replace("_", "."): value for key, value in attributes.items()
    }
    text = ",".join(f"+{key}={value}" for key, value in given.items())
    create_topic(run.addrs["broker-a"], name, queues, attributes=text)
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    run.note(f"topic {name} at broker-a: {shown}")
    run.until(lambda: run.client.update_route(name) is not None, f"a route of {name}")
    return name


def lite_group(
    run: Run, name: str, topic: str, config: dict[str, object] | None = None, **attributes: str
) -> str:
    """Create a group at broker-a that is bound to a topic; return its name."""
    given = {"+lite.bind.topic": topic} | {
        f"+lite.sub.{key.replace('_', '.')}": value for key, value in attributes.items()
    }
    return run.group(name, attributes=given, **(config or {}))


def lite_send(
    run: Run, topic: str, lite: str | None, body: str, number: int = 0, **more: str
) -> None:
    """Send a message to a lite topic; ``more`` are properties."""
    own = {} if lite is None else {LITE_TOPIC: lite}
    text = properties(UNIQ_KEY=UNIQUE_ID.format(number), **own, **more)
    fields = send_v2_fields(topic, i=text)
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")


def lite_store(run: Run, topic: str, lite: str, *bodies: str, stored: int = 0) -> None:
    """Have messages in a lite topic, where ``stored`` lie already; it is not written down."""
    lines = len(run.lines)
    for number, body in enumerate(bodies, stored):
        lite_send(run, topic, lite, body, number)
    del run.lines[lines:]
    run.note(f"stored in lite topic {lite} of {topic}: {', '.join(bodies)}")
    run.until_stored("broker-a", queue_of(topic, lite), stored + len(bodies))


def subscription(
    action: str, group: str, topic: str, lites: Iterable[str] = (), **more: object
) -> dict[str, object]:
    """Return one entry of LITE_SUBSCRIPTION_CTL."""
    return {
        "action": action,
        "clientId": client_of(group),
        "group": group,
        "liteTopicSet": list(lites),
        "topic": topic,
        "version": 1,
    } | more


def subscribe(
    run: Run,
    action: str,
    group: str,
    topic: str,
    lites: Iterable[str] = (),
    *,
    peer: str = "consumer",
    **more: object,
) -> Answer:
    """Change the subscription of a client, by default of `client_of` its group."""
    body = {"subscriptionSet": [subscription(action, group, topic, lites, **more)]}
    code = RequestCode5.LITE_SUBSCRIPTION_CTL
    return run.ask("broker-a", code, {}, json.dumps(body), peer=peer)


def pop_lite_fields(topic: str, group: str, **more: object) -> dict[str, object]:
    """Return the fields of POP_LITE_MESSAGE, not ready to wait."""
    return {
        "clientId": client_of(group),
        "consumerGroup": group,
        "topic": topic,
        "maxMsgNum": 32,
        "invisibleTime": INVISIBLE_MS,
        "pollTime": 0,
        "bornTime": 0,
    } | more


def pop_lite(
    run: Run, topic: str, group: str, *, peer: str = "consumer", **more: object
) -> list[tuple[str, Handle]]:
    """Pop; return lite topic and handle of each message."""
    fields = pop_lite_fields(topic, group, **more)
    answer = run.ask("broker-a", RequestCode5.POP_LITE_MESSAGE, fields, peer=peer)
    return lite_handles(answer)


def lite_handles(answer: Answer) -> list[tuple[str, Handle]]:
    """Return lite topic and handle of each message in the answer to a pop.

    Source: client/impl/MQClientAPIImpl.java#processPopLiteResponse (5.5.0)
    """
    found = []
    for message in decode_records(answer.body):
        own = decode_properties(message.properties_string)
        lite, offset = own.get(LITE_TOPIC, ""), int(own["INNER_MULTI_QUEUE_OFFSET"])
        fields = answer.fields
        times = int(fields["popTime"]), int(fields["invisibleTime"]), int(fields["reviveQid"])
        found.append((lite, Handle(0, *times, "0", "broker-a", 0, offset)))
    return found


def ack_lite(
    run: Run, topic: str, group: str, popped: tuple[str, Handle], **more: object
) -> Answer:
    """Acknowledge one message."""
    lite, handle = popped
    fields = handle.fields(topic, consumerGroup=group, **{"liteTopic": lite, **more})
    return run.ask("broker-a", RequestCode5.ACK_MESSAGE, fields, peer="consumer")


def hide_lite(
    run: Run, topic: str, group: str, popped: tuple[str, Handle], invisible_ms: int, **more: object
) -> tuple[str, Handle]:
    """Change how long a message is hidden; return it with its new handle."""
    lite, handle = popped
    fields = handle.fields(
        topic, consumerGroup=group, liteTopic=lite, invisibleTime=invisible_ms, **more
    )
    code = RequestCode5.CHANGE_MESSAGE_INVISIBLETIME
    answer = run.ask("broker-a", code, fields, peer="consumer")
    return lite, handle.changed(answer.fields)
