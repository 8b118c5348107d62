"""Every body through both of its readers, and what fastjson 1.2.69 was seen to accept."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from fakemq.protocol import fastjson
from fakemq.protocol.beans import to_bean
from fakemq.protocol.bodies.body import Body, FrozenBody
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.heartbeat import (
    CheckClientRequestBody,
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.offset import ConsumerOffsetSerializeWrapper
from fakemq.protocol.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from fakemq.protocol.errors import BodyError, HeaderError, NullBodyError
from fakemq.protocol.java import enum_names
from tests.support.body_modules import body_modules
from tests.support.forking import LIMIT_S, in_child

CLASSES: list[type[Any]] = [
    value
    for module in body_modules()
    for value in vars(module).values()
    if isinstance(value, type)
    and issubclass(value, (Body, FrozenBody))
    and value.__module__ == module.__name__
    and value not in (Body, FrozenBody)
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def values_of(to: inspect.Type) -> st.SearchStrategy[Any]:
    match to:
        case inspect.StructType():
            return st.builds(to.cls, **{one.name: field_values(one) for one in to.fields})
        case inspect.DictType():
            return st.dictionaries(values_of(to.key_type), values_of(to.value_type), max_size=3)
        case inspect.ListType():
            return st.lists(values_of(to.item_type), max_size=3)
        case inspect.VarTupleType():
            return st.lists(values_of(to.item_type), max_size=3).map(tuple)
        case inspect.IntType():
            return st.integers(to.ge, to.le)
        case inspect.BoolType():
            return st.booleans()
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.StrType():
            return texts if to.pattern is None else st.sampled_from(enum_names(to.pattern))
        case inspect.UnionType():
            (only,) = (one for one in to.types if not isinstance(one, inspect.NoneType))
            return values_of(only)
    raise AssertionError(to)


def field_values(field: inspect.Field) -> st.SearchStrategy[Any]:
    # null is not written, so it only comes back where it is the default
    given_value = values_of(field.type)
    return given_value | st.none() if field.default is None else given_value


@pytest.mark.parametrize("cls", CLASSES)
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_written_body_is_read_by_both_readers(cls: type[Any], data: st.DataObject) -> None:
    body = data.draw(values_of(inspect.type_info(cls)))
    assert cls.decode(body.encode()) == body
    assert to_bean(fastjson.loads(body.encode()), cls) == body


@pytest.mark.parametrize("cls", CLASSES)
@given(data=st.binary(max_size=30) | st.text("{}[]:,\"'0123nulltrue ", max_size=30))
@settings(deadline=None, max_examples=20)
def test_any_bytes_are_a_body_or_a_body_error(cls: type[Any], data: bytes | str) -> None:
    try:
        cls.decode(data.encode() if isinstance(data, str) else data)
    except BodyError as error:
        assert cls.__name__ in str(error)  # noqa: PT017  # it may also be a body


@pytest.mark.parametrize("text", ["", "null", "[]", "5", '"x"', '{"table":{"a":"b"}', "{} x"])
def test_body_that_fastjson_refuses_or_reads_as_null_is_an_error(text: str) -> None:
    with pytest.raises(BodyError, match=r"no KVTable in a body of|KVTable is null"):
        KVTable.decode(text.encode())
    assert issubclass(BodyError, HeaderError)


@pytest.mark.parametrize("text", ["null", "[]", " [] ", '""'])
def test_null_body_can_be_decoded_as_null(text: str) -> None:
    with pytest.raises(NullBodyError, match="TopicConfig is null"):
        TopicConfig.decode(text.encode())
    assert TopicConfig.decode_or_null(text.encode()) is None


@pytest.mark.parametrize(("text", "problem"), [("", "is null"), ("{}", r"topicName is null")])
def test_missing_body_and_missing_name_are_not_null(text: str, problem: str) -> None:
    with pytest.raises(NullBodyError, match=problem):
        TopicConfig.decode_or_null(text.encode())


def test_null_fields_and_unknown_fields_leave_defaults() -> None:
    text = b'{"topicName":"t","perm":null,"order":"true","readQueueNums":"5","more":[]}'
    assert TopicConfig.decode(text) == TopicConfig("t", 5, 16, 6, order=True)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ('{"topicName":5,"perm":true,"order":1}', TopicConfig("5", perm=1, order=True)),
        ('{"topicName":"t","perm":3.7}', TopicConfig("t", perm=3)),
        ('{"topicName":"t","perm":"1,000"}', TopicConfig("t", perm=1000)),
        ('{"topicName":"t","perm":""}', TopicConfig("t")),
        ("{topicName:'t',order:\"false\",perm:null}", TopicConfig("t")),
        ('{"topicName":{"a":1}}', TopicConfig('{"a":1}')),
        ('{"topicName":true,"order":"Y","perm":null}', TopicConfig("true", order=True)),
        ('{"topicName":"t","order":""}', TopicConfig("t")),
        ('{"topicName":"t","order":2,"perm":null}', TopicConfig("t")),
        ('{"topicName":"t","order":"T","perm":null}', TopicConfig("t", order=True)),
    ],
)
def test_values_of_another_type_are_converted(text: str, config: TopicConfig) -> None:
    assert TopicConfig.decode(text.encode()) == config


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"perm":"x"}', r"\$\.perm: expected a number, not 'x'"),
        ('{"perm":{}}', r"\$\.perm: expected a number, not dict"),
        ('{"perm":4294967296}', r"\$\.perm: 4294967296 is out of range"),
        ('{"order":"yes"}', r"\$\.order: expected a boolean"),
        ('{"order":[]}', r"\$\.order: expected a boolean"),
        ('{"order":"t"}', r"\$\.order: expected a boolean"),
        ('{"order":2147483648}', r"\$\.order: expected a boolean"),
    ],
)
def test_unconvertible_values_are_refused(text: str, why: str) -> None:
    with pytest.raises(BodyError, match=why):
        TopicConfig.decode(b'{"topicName":"t",' + text[1:].encode())


def test_nested_unconvertible_values_are_refused() -> None:
    for text in (
        b'{"topicConfigTable":[]}',
        b'{"topicConfigTable":{"a":5}}',
        b'{"dataVersion":{"counter":{"x":7}}}',
    ):
        with pytest.raises(BodyError):
            TopicConfigSerializeWrapper.decode(text)
    with pytest.raises(BodyError, match=r"producerDataSet: expected an array, not int"):
        HeartbeatData.decode(b'{"producerDataSet":5}')


def test_true_is_an_int_and_no_long() -> None:
    assert SubscriptionGroupConfig.decode(b'{"groupName":"g","retryMaxTimes":true}') == (
        SubscriptionGroupConfig("g", retry_max_times=1)
    )
    with pytest.raises(BodyError, match=r"brokerId: expected a number, not bool"):
        SubscriptionGroupConfig.decode(b'{"groupName":"g","brokerId":true}')


@pytest.mark.parametrize("text", ["[]", '""'])
def test_empty_array_or_text_is_null_for_an_object(text: str) -> None:
    body = f'{{"dataVersion":{text}}}'.encode()
    assert TopicConfigSerializeWrapper.decode(body).data_version.counter == 0


def test_object_is_the_only_item_of_a_list_of_objects() -> None:
    heartbeat = HeartbeatData.decode(b'{"clientID":"c","producerDataSet":{"groupName":"p"}}')
    assert heartbeat.producer_data_set == [ProducerData("p")]
    with pytest.raises(BodyError, match=r"tagsSet: expected an array, not dict"):
        SubscriptionData.decode(b'{"tagsSet":{}}')


@pytest.mark.parametrize(
    ("value", "model"),
    [
        ('"CLUSTERING"', "CLUSTERING"),
        ('"clustering"', "CLUSTERING"),
        ("0", "BROADCASTING"),
        ('"x"', None),
        ('""', None),
        ("null", None),
    ],
)
def test_enum_is_read_by_name_or_number(value: str, model: str | None) -> None:
    data = ConsumerData.decode(f'{{"groupName":"g","messageModel":{value}}}'.encode())
    assert data == ConsumerData("g", message_model=model)


@pytest.mark.parametrize("value", ["2", "-1", "1.5", "true", "[]", "{}"])
def test_value_that_no_enum_has_is_refused(value: str) -> None:
    with pytest.raises(BodyError, match=r"messageModel: expected one of BROADCASTING, CLUSTERING"):
        ConsumerData.decode(f'{{"messageModel":{value}}}'.encode())


@pytest.mark.parametrize("value", ["null", "[null]", '[""]', "[[]]"])
def test_null_in_a_list_that_java_reads_at_once_is_an_error(value: str) -> None:
    with pytest.raises(NullBodyError, match=r"HeartbeatData\.consumerDataSet is null"):
        HeartbeatData.decode(f'{{"clientID":"c","consumerDataSet":{value}}}'.encode())


def test_table_of_strings_takes_any_value() -> None:
    assert KVTable.decode(b'{"table":{"a":1,"b":null,"c":{"q":1}}}').table == {
        "a": "1",
        "c": '{"q":1}',
    }


def test_heartbeat_is_read_as_clients_send_it() -> None:
    text = (
        '{"clientID":"1.2.3.4@5","consumerDataSet":[{"consumeFromWhere":'
        '"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"g",'
        '"messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,'
        '"codeSet":[2584],"expressionType":"TAG","subString":"QQ","subVersion":9,"tagsSet":["QQ"],'
        '"topic":"t"}],"unitMode":false}],"producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}]}'
    )
    heartbeat = HeartbeatData.decode(text.encode())
    assert heartbeat.client_id == "1.2.3.4@5"
    assert heartbeat.consumer_data_set[0].subscription_data_set == [
        SubscriptionData(
            topic="t", sub_string="QQ", tags_set=["QQ"], code_set=[2584], sub_version=9
        )
    ]
    assert heartbeat.encode().decode() == text


def test_heartbeat_with_string_numbers_and_nulls_in_sets_is_read() -> None:
    text = (
        b'{"clientID":"c","producerDataSet":null,"consumerDataSet":[{"groupName":"g",'
        b'"subscriptionDataSet":[{"topic":"t","codeSet":["1",2],"tagsSet":[3,null],'
        b'"subVersion":"9"}]}]}'
    )
    subscription = SubscriptionData(topic="t", code_set=[1, 2], tags_set=["3"], sub_version=9)
    assert HeartbeatData.decode(text) == HeartbeatData(
        "c", consumer_data_set=[ConsumerData("g", subscription_data_set=[subscription])]
    )


def test_heartbeat_of_5_x_with_more_fields_is_read() -> None:
    text = b'{"clientID":"c","heartbeatFingerprint":0,"withoutSub":false,"producerDataSet":[]}'
    assert HeartbeatData.decode(text) == HeartbeatData("c")


def test_null_is_not_written() -> None:
    assert GetConsumerListByGroupResponseBody().encode() == b"{}"
    assert CheckClientRequestBody("c").encode() == b'{"clientId":"c"}'


def test_maps_keep_their_order() -> None:
    assert KVTable({"b": "1", "a": "2"}).encode() == b'{"table":{"b":"1","a":"2"}}'


def test_map_keys_that_java_indexes_by_are_required() -> None:
    with pytest.raises(BodyError, match=r"TopicConfig\.topicName is null"):
        TopicConfig.decode(b'{"perm":6}')


@pytest.mark.parametrize(("field", "levels"), [("clientID", 600), ("clientID", 5000), ("x", 5000)])
def test_deeply_nested_body_is_refused(field: str, levels: int) -> None:
    body = f'{{"{field}":{"[" * levels}{"]" * levels}}}'.encode()
    with pytest.raises(BodyError, match="nested deeper than 128"):
        HeartbeatData.decode(body)


def test_long_key_takes_linear_time() -> None:
    # It took 16 s when each value below it had a text that said where it stands.
    values = b",".join(b"%d:0" % number for number in range(20_000))
    data = b'{"offsetTable":{"%s":{%s}}}' % (b"k" * 4_000_000, values)
    (table,) = ConsumerOffsetSerializeWrapper.decode(data).offset_table.values()
    assert len(table) == 20_000
    with pytest.raises(BodyError, match=r"\$\.offsetTable\.k{40}\.0: expected a number"):
        ConsumerOffsetSerializeWrapper.decode(data.replace(b"0:0", b"0:[]", 1))


def test_threads_that_decode_a_new_body_first_do_not_end_the_process() -> None:
    # In a process of its own, which ended with SIGSEGV after a few bodies.
    done = subprocess.run([sys.executable, "-c", NEW_BODIES], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "40 bodies\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_child_forked_while_a_thread_prepares_a_body_decodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OfThread(Body):
        number: int = 0

    class OfChild(Body):
        number: int = 0

    begun, forks = threading.Event(), threading.Event()
    os.register_at_fork(before=forks.set)  # runs before the earlier ones; it stays, and is harmless
    decoder = msgspec.json.Decoder

    def slow_decoder(kind: Any, **settings: Any) -> Any:
        if kind is OfThread and not begun.is_set():
            begun.set()
            forks.wait(LIMIT_S)
            threading.Event().wait(0.05)  # the fork is over, unless it waits for this thread
        return decoder(kind, **settings)

    monkeypatch.setattr(msgspec.json, "Decoder", slow_decoder)
    thread = threading.Thread(target=OfThread.decode, args=(b'{"number":1}',))
    thread.start()
    assert begun.wait(LIMIT_S)
    decoded = [OfChild, OfThread]
    assert in_child(lambda: [kind.decode(b'{"number":2}') for kind in decoded]) == (
        "[OfChild(number=2), OfThread(number=2)]"
    )
    thread.join()


NEW_BODIES = """
import sys
import threading

from fakemq.protocol.bodies.body import Body

sys.setswitchinterval(1e-6)  # the threads take turns in the middle of everything


def new_body(number):
    inner = body(f"Inner{number}", {f"i{at}": "int | None" for at in range(30)})
    globals()[inner.__name__] = inner
    return body(f"Outer{number}", {f"o{at}": f"{inner.__name__} | None" for at in range(10)})


def body(name, fields):
    namespace = dict.fromkeys(fields), {"__annotations__": fields, "__module__": "__main__"}
    return type(name, (Body,), namespace[0] | namespace[1])


def decode(kind, start):
    start.wait()
    assert kind.decode(b'{"o9":{"i29":1}}').o9.i29 == 1


for number in range(40):
    kind, start = new_body(number), threading.Barrier(4)
    threads = [threading.Thread(target=decode, args=(kind, start)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("40 bodies")
"""
