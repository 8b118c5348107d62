"""Plays the transport of an operation: scripted answers in, the calls it made out."""

from __future__ import annotations

from typing import Generic, TypeVar

from fakemq.client.errors import RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Call, Operation
from fakemq.client.options import ClientConfig
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from tests.support.time import ManualTime

T = TypeVar("T")
Answer = RemotingCommand | RemotingError | None

TIMEOUT_MS = 5_000
"""How long a request over a real socket may take."""

NAMESRV = "ns:9876"
A, B = "a:10911", "b:10911"


class ScriptedOperation(Generic[T]):
    """An operation that is answered by hand; ``result`` is there once it is ``over``."""

    def __init__(self, operation: Operation[T], *answers: Answer) -> None:
        self._operation = operation
        self.calls: list[Call] = []
        self.over = False
        self._result: T | None = None
        self._step(lambda: next(operation))
        for answer in answers:
            self.answer(answer)

    def answer(self, answer: Answer) -> None:
        assert not self.over, f"over after {self.calls}, and yet {answer!r}"
        if isinstance(answer, RemotingError):
            self._step(lambda: self._operation.throw(answer))
        else:
            self._step(lambda: self._operation.send(answer))

    def _step(self, step: object) -> None:
        assert callable(step)
        try:
            self.calls.append(step())
        except StopIteration as stop:
            self.over = True
            self._result = stop.value

    @property
    def result(self) -> T:
        assert self.over, f"still waiting for an answer to {self.calls[-1]}"
        return self._result  # type: ignore[return-value]  # T may be None itself

    @property
    def addrs(self) -> list[str]:
        return [call.addr for call in self.calls]

    @property
    def codes(self) -> list[int]:
        return [call.command.code for call in self.calls]


def performing(task: Task[T]) -> Operation[T]:
    """Run a task that only calls and performs, with its functions called at once."""
    result: object = None
    error: BaseException | None = None
    while True:
        try:
            step = task.send(result) if error is None else task.throw(error)
        except StopIteration as stop:
            value: T = stop.value
            return value
        result, error = None, None
        try:
            if isinstance(step, Perform):
                result = step.function(*step.args)
            else:
                assert isinstance(step, Call)
                result = yield step
        except Exception as raised:
            error = raised


def answer(
    code: int = 0, *, body: Body | bytes = b"", remark: str | None = None, **fields: object
) -> RemotingCommand:
    """A response; ``fields`` are ext fields under their wire names."""
    return RemotingCommand(
        code,
        ext_fields={name: str(value) for name, value in fields.items()},
        body=body.encode() if isinstance(body, Body) else body,
        remark=remark,
        flag=FLAG_RESPONSE,
    )


def route(*brokers: str, queues: int = 2, perm: int = 6) -> TopicRouteData:
    """A route over brokers ``a`` and ``b`` that listen at `A` and `B`."""
    return TopicRouteData(
        queue_datas=[
            QueueData(broker_name=one, read_queue_nums=queues, write_queue_nums=queues, perm=perm)
            for one in brokers
        ],
        broker_datas=[
            BrokerData(cluster="c", broker_name=one, broker_addrs={0: f"{one}:10911"})
            for one in brokers
        ],
    )


def sent(queue_id: int = 0, offset: int = 0) -> RemotingCommand:
    """A broker's answer to a send."""
    return answer(msgId="0A", queueId=queue_id, queueOffset=offset, MSG_REGION="DefaultRegion")


def client(*brokers: str, time: ManualTime | None = None, **options: object) -> ClientInstance:
    """A client that knows the route of ``orders`` over these brokers."""
    config = ClientConfig(seed=1, **options)  # type: ignore[arg-type]  # the test's own choice
    instance = ClientInstance(NAMESRV, config, time=time or ManualTime(), ip="10.0.0.1", pid=7)
    if brokers:
        instance.routes.put("orders", route(*brokers), 0)
    return instance


def queue(broker: str = "a", queue_id: int = 0, topic: str = "orders") -> MessageQueue:
    return MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id)
