"""UPDATE_BROKER_CONFIG (25): set keys of the config at run time, from properties text.

Behaviour: SUCCESS, also without a body. Nearly every key works at once, because it is read when it
is needed; docs/config.md has the others. ``namesrvAddr`` is followed within 2 minutes.
``brokerPermission`` registers the broker with all name servers again, and the answer waits for
their replies. An unknown key of the file that the broker was started with gets the new text. Other
unknown keys and unreadable values change nothing; each is a warning in the journal,
where Java is silent. Every boolean but "true" is false.
Refused: text that is no properties file: SYSTEM_ERROR.
Differs: two kinds of values are ignored with a warning: values with which Java fails later, and
values that need features which fakemq does not have yet. No file is rewritten.

Source: broker/processor/AdminBrokerProcessor.java#updateBrokerConfig,
common/Configuration.java#update (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.registration import when_registered
from fakemq.config.files import missing
from fakemq.config.updates import UNREADABLE, properties_of, update
from fakemq.dispatch.answers import Parked, Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.table import NoHeader

_NAME = RequestCode.UPDATE_BROKER_CONFIG.name


@handles(table.UPDATE_BROKER_CONFIG)
def update_broker_config(
    broker: Broker, request: Request[NoHeader]
) -> Reply[NoHeader] | Parked[NoHeader]:
    return set_keys(broker, request)


def set_keys(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader] | Parked[NoHeader]:
    """Set the keys of a request; raise Refused for what cannot be read."""
    if not request.body:
        return Reply()
    properties = properties_of(request.body)
    if properties is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, UNREADABLE)
    trial = broker.config.copy()
    update(trial, properties)
    not_there = {name: why for name, why in missing(trial).items() if name in properties}
    taken = {name: text for name, text in properties.items() if name not in not_there}
    for text in (*not_there.values(), *update(broker.config, taken)):
        broker.journal.peer_warnings.warn(broker.name, _NAME, f"{_NAME}: {text}")
    if "brokerRole" in taken:
        broker.replication()  # a new role may make puts wait for slaves
    if "namesrvAddr" in taken:
        broker.registration.follow_config()
    broker.follow_config()
    broker.config_version = broker.config_version.next(broker.clock.now_ms())
    if "brokerPermission" in taken:
        broker.topics.next_version()
        return when_registered(broker.registration.register_all(check_order=False), Reply())
    return Reply()
