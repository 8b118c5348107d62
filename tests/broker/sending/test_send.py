"""From a send's header to the stored record: properties, retries, dead letters, refusals."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.sending import send as send_path
from fakemq.config.model import BrokerConfig
from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.query import ViewMessageRequestHeader
from fakemq.protocol.properties import decode_properties
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.broker_lab import BrokerLab, Send, send_header
from tests.support.peer import Peer
from tests.support.time import START_MS


class Stored:
    """The fields of a stored record that the send path fills in."""

    def __init__(self, peer: Peer, msg_id: str) -> None:
        header = ViewMessageRequestHeader(offset=int(msg_id[16:], 16))
        record = peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, header).body

        def number(at: int, size: int) -> int:
            return int.from_bytes(record[at : at + size], signed=True)

        self.queue_id = number(12, 4)
        self.flag = number(16, 4)
        self.sys_flag = number(36, 4)
        self.born_timestamp = number(40, 8)
        self.born_ip = record[48:52]
        self.store_timestamp = number(56, 8)
        self.store_host = record[64:72]
        self.reconsume_times = number(72, 4)
        at = 84
        size = number(at, 4)
        self.body = record[at + 4 : at + 4 + size]
        at += 4 + size
        size = record[at]
        self.topic = record[at + 1 : at + 1 + size].decode()
        at += 1 + size
        self.properties = record[at + 2 :].decode()


def test_stored_message_equals_the_sent_one(peer: Peer, send: Send) -> None:
    response = send(b"hello", queue_id=2, flag=9, sys_flag=1, reconsume_times=0)
    stored = Stored(peer, response.ext_fields["msgId"])
    assert (stored.topic, stored.queue_id, stored.body) == ("orders", 2, b"hello")
    assert (stored.flag, stored.sys_flag, stored.reconsume_times) == (9, 1, 0)
    assert (stored.born_timestamp, stored.store_timestamp) == (START_MS - 5, START_MS)
    assert stored.born_ip == b"\x7f\0\0\1"
    assert stored.store_host == b"\x7f\0\0\1" + (10911).to_bytes(4)


def test_properties_gain_cluster_lose_wait_and_have_a_hash_maps_order(
    peer: Peer, send: Send
) -> None:
    response = send(properties="KEYS\x01k\x02TAGS\x01t\x02UNIQ_KEY\x01u\x02WAIT\x01true\x02")
    stored = Stored(peer, response.ext_fields["msgId"])
    # The order of these keys in a java.util.HashMap of JDK 17.
    assert stored.properties == (
        "KEYS\x01k\x02UNIQ_KEY\x01u\x02CLUSTER\x01DefaultCluster\x02TAGS\x01t"
    )


def test_invalid_delay_level_is_a_number_format_exception(send: Send) -> None:
    response = send(properties="DELAY\x01soon")
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith(
        'java.lang.NumberFormatException: For input string: "soon"'
    )


def test_message_without_properties_is_stored(peer: Peer) -> None:
    header = send_header()
    header.properties = None
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    stored = Stored(peer, response.ext_fields["msgId"])
    assert decode_properties(stored.properties) == {"CLUSTER": "DefaultCluster"}


def test_multi_tag_topic_marks_its_messages(broker: Broker, peer: Peer, send: Send) -> None:
    broker.create_topic("orders", 1)
    config = broker.topics.select("orders")
    assert config is not None
    config.topic_filter_type = "MULTI_TAG"
    assert Stored(peer, send().ext_fields["msgId"]).sys_flag == 2


def test_retry_below_its_limit_stays_a_retry(peer: Peer, send: Send) -> None:
    response = send(topic="%RETRY%g", reconsume_times=15)
    stored = Stored(peer, response.ext_fields["msgId"])
    assert (stored.topic, stored.reconsume_times) == ("%RETRY%g", 15)


def test_retry_above_its_limit_is_a_dead_letter(broker: Broker, peer: Peer, send: Send) -> None:
    response = send(topic="%RETRY%g", reconsume_times=16)
    stored = Stored(peer, response.ext_fields["msgId"])
    assert (stored.topic, stored.queue_id) == ("%DLQ%g", 0)
    config = broker.topics.select("%DLQ%g")
    assert config is not None
    assert (config.write_queue_nums, config.perm) == (1, 6)


def test_new_clients_send_their_own_limit(peer: Peer) -> None:
    header = send_header("%RETRY%g", reconsume_times=3, max_reconsume_times=3)
    for version, topic in ((121, "%DLQ%g"), (120, "%RETRY%g")):
        response = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x", version=version)
        assert Stored(peer, response.ext_fields["msgId"]).topic == topic


def test_retry_of_an_unknown_group_is_refused(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(auto_create_subscription_group=False))
    peer = lab.peer(broker.addr)
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("%RETRY%g"), b"x")
    assert response.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert response.remark == (
        "subscription group not exist, g "
        "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
    )


def test_broker_may_refuse_transactions(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(reject_transaction_message=True))
    header = send_header(properties="TRAN_MSG\x01true")
    response = lab.peer(broker.addr).ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the broker[127.0.0.1] sending transaction message is forbidden"


def test_answer_has_the_brokers_region_and_trace_switch(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(region_id="here", trace_on=False))
    response = lab.peer(broker.addr).ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"x")
    assert response.ext_fields["MSG_REGION"] == "here"
    assert response.ext_fields["TRACE_ON"] == "false"


def test_full_store_refuses_with_code_14(lab: BrokerLab) -> None:
    broker = lab.broker(memory_limit_bytes=1000)
    peer = lab.peer(broker.addr)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"x" * 500).code == 0
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"x" * 500)
    assert response.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert response.remark is not None
    assert response.remark.startswith(
        "service not available now. It may be caused by one of the following reasons:"
        " the broker's disk is full [CL:  0."
    )
    assert response.remark.endswith(
        "has been shut down, etc. Here the memory limit of fakemq, --memory-limit 1000, is reached."
    )
    assert response.ext_fields["MSG_REGION"] == "DefaultRegion"


def test_slave_refuses(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    response = lab.peer(broker.addr).ask(RequestCode.SEND_MESSAGE_V2, send_header(), b"x")
    assert response.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert (response.remark or "").endswith(
        "messages are put to the slave, message store has been shut down, etc."
    )


@pytest.mark.parametrize(
    ("status", "code", "remark"),
    [
        (
            PutMessageStatus.CREATE_MAPEDFILE_FAILED,
            1,
            "create mapped file failed, server is busy or broken.",
        ),
        (
            PutMessageStatus.OS_PAGECACHE_BUSY,
            1,
            "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        ),
        (PutMessageStatus.UNKNOWN_ERROR, 1, "UNKNOWN_ERROR"),
        (
            PutMessageStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED,
            1,
            (
                "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch,"
                " lmq consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w."
            ),
        ),
    ],
)
def test_other_store_results_have_javas_remarks(
    broker: Broker, status: PutMessageStatus, code: int, remark: str
) -> None:
    refused: Refused = send_path.refusal(broker, put_ended(status))
    assert (refused.code, refused.remark) == (code, remark)
