"""UPDATE_BROKER_CONFIG (25): set keys of the config at run time, from properties text.

Behaviour: as in 4.9.7. A key of auth 2.0 is set only if the file of the start has it, and counts
from the next start on.
Refused: a key of configBlackList, as it was at the start, or one that no list frees:
NO_PERMISSION, and then nothing changes.

Source: broker/processor/AdminBrokerProcessor.java#updateBrokerConfig, #initConfigBlackList (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.update_broker_config import set_keys
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.dispatch.config_black_list import check_black_list
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader

ALWAYS = ("brokerConfigPath", "configBlackList", "rocketmqHome")


@handles(table.UPDATE_BROKER_CONFIG)
def update_broker_config(
    broker: Broker5, request: Request[NoHeader]
) -> Reply[NoHeader] | Parked[NoHeader]:
    check_black_list(request.body, ALWAYS, broker.config.config_black_list)
    return set_keys(broker, request)
