"""CLEAN_EXPIRED_CONSUMEQUEUE (306), DELETE_EXPIRED_COMMITLOG (329): delete expired files.

Behaviour: always SUCCESS. 306 deletes the consume queues whose records are all deleted. After 329
the next twenty scans delete every file that is old enough, at any hour of the day.

Source: broker/processor/AdminBrokerProcessor.java#cleanExpiredConsumeQueue, #deleteExpiredCommitLog
(4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.CLEAN_EXPIRED_CONSUMEQUEUE)
def clean_expired_consumequeue(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    broker.store.retention.clean_expired_consume_queues()
    return Reply()


@handles(table.DELETE_EXPIRED_COMMITLOG)
def delete_expired_commitlog(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    broker.store.retention.execute_delete_files_manually()
    return Reply()
