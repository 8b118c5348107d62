"""A real RocketMQ cluster for tests: one name server and N masters, each a JVM; 4.9.7 or 5.5.0.

``with JavaCluster(masters=2, topics={"orders": 8}) as cluster`` has ``cluster.namesrv_addr`` and
``cluster.broker("broker-a")`` with ``stop``, ``kill``, ``start``, ``pause``, ``resume``. Everything
lives in one temporary directory; every JVM halts when this process ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.targets.accounts import needs_accounts, write_rules
from conformance.targets.free_ports import free_port
from conformance.targets.java_jars import REFERENCE, Extra, archive_flags, class_path
from conformance.targets.stopped_process import stop_process
from conformance.targets.timer_slack import late_timers
from conformance.wire.raw import call, create_topic, frame

READY_TIMEOUT_S, STOP_TIMEOUT_S = 60.0, 30.0
_SLOWEST = 3
"""By how much a shared machine is slower at its worst than callers expect."""
SMALL_JVM = (
    *("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    # A server that could speak TLS makes itself a certificate first: over half of its start.
    "-Dtls.server.mode=disabled",
)

OPENS = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    # Without jdk.internal.ref a clean stop fails half-way and leaves the abort file behind.
    for package in ("java.nio", "sun.nio.ch", "java.lang", "java.util", "jdk.internal.ref")
]
_LOGBACK = """<configuration>
  <appender name="F" class="ch.qos.logback.core.FileAppender">
    <file>{file}</file>
    <encoder><pattern>%d{{HH:mm:ss.SSS}} %-5p %c{{0}} - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="F"/></root>
</configuration>
"""
_GET_BROKER_CLUSTER_INFO = 106
_LATER = {
    # What 4.9.7 has not got: a thread and files of compaction, and a log of timers of 100 MiB.
    "enableCompaction": "false",
    "mappedFileSizeTimerLog": str(1 << 20),
    # At each flush, of one second by default, the wheel of 14 days is compared byte by byte.
    "timerFlushIntervalMs": "20000",
    # Until the first interval is over, of 10 s by default, its thread asks for the time in a loop
    # without a pause: 8 s of a core for each start.
    "transactionMetricFlushInterval": "500",
}


class JavaClusterError(Exception):
    """A JVM of the cluster did not do what was waited for; the message carries its output."""


class _PortTakenError(JavaClusterError):
    """Another process took the port between our look and the JVM's bind."""


class JavaNode:
    """One JVM of the cluster: the name server, a broker, or a proxy."""

    extra: Extra = ""  # of its class path

    def __init__(
        self,
        name: str,
        home: Path,
        main: str,
        port: int,
        jvm: Sequence[str],
        version: str = REFERENCE,
    ) -> None:
        self.name = name
        self.version = version
        self.port = port
        self.addr = f"127.0.0.1:{port}"
        self.home = home
        self.config: dict[str, str] = {}
        self._main = main
        self._jvm = jvm
        self._process: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        state = f"pid {self.pid}" if self.running else "not running"
        return f"<{type(self).__name__} {self.name} {self.addr} {state}>"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the JVM. Raises JavaClusterError when it does not run."""
        if self._process is None or self._process.poll() is not None:
            raise JavaClusterError(f"{self.name} does not run\n{self.output()}")
        return self._process.pid

    def output(self) -> str:
        """Return the tail of what the JVM has printed and logged."""
        return "\n".join(
            f"--- {path.name} of {self.name}\n{path.read_text(errors='replace')[-2000:]}"
            for path in sorted(self.home.glob("*.log"))
        )

    def launch(self) -> None:
        """Start the JVM without waiting for it; ``wait_ready`` does."""
        if self.running:
            raise JavaClusterError(f"{self.name} runs already")
        conf = self.home / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        for kind in ("namesrv", "broker"):  # 4.9.7 looks for these names
            logback = conf / f"logback_{kind}.xml"
            logback.write_text(_LOGBACK.format(file=self.home / "server.log"))
        command = [
            *("java", *OPENS, *self._jvm, "-XX:-UsePerfData"),
            *([] if self.extra else archive_flags(self.version)),
            # With TLS, Netty leaves a certificate in the temporary folder at every start.
            *(f"-Duser.home={self.home}", f"-Djava.io.tmpdir={self.home}"),
            f"-Drmq.logback.configurationFile={logback}",  # what 5.5.0 looks for
            *("-cp", class_path(self.version, self.extra)),
            *("conformance.Launcher", self._main, *self.arguments()),
        ]
        with open(self.home / "stdout.log", "wb") as out, late_timers():
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # its end shows the JVM that we are gone
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env={**os.environ, "ROCKETMQ_HOME": str(self.home)},
            )

    def arguments(self) -> Sequence[str]:
        """Write the config file; return the arguments of the main class."""
        path = self.home / "node.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self.config.items()))
        return "-c", str(path)

    def is_ready(self) -> bool:
        """Return whether the port answers."""
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def wait_ready(self) -> None:
        """Poll until the node serves. Raises JavaClusterError when it ends or takes too long."""
        try:
            wait_until(lambda: not self.running or self.is_ready(), READY_TIMEOUT_S)
        except TimeoutError:
            raise JavaClusterError(f"{self.name} is not ready\n{self.output()}") from None
        if not self.running:
            output = self.output()
            error = _PortTakenError if "BindException" in output else JavaClusterError
            raise error(f"{self.name} ended at start\n{output}")

    def start(self) -> None:
        """Start the JVM, on the same port and store as before, and wait until it serves."""
        self.launch()
        self.wait_ready()

    def stop(self) -> None:
        """SIGTERM: the broker unregisters and writes everything down; then waits for the end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: no clean-up of any kind."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """SIGSTOP: sockets stay, nothing answers."""
        stop_process(self.pid)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            if how is not signal.SIGKILL:  # which ends a paused JVM before it does anything more
                process.send_signal(signal.SIGCONT)
            process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise JavaClusterError(f"{self.name} does not stop\n{self.output()}") from None
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
            self._process = None


class JavaBroker(JavaNode):
    """A master; ``store`` is its store directory."""

    def __init__(
        self,
        name: str,
        home: Path,
        namesrv: JavaNode,
        jvm: Sequence[str],
        version: str = REFERENCE,
    ) -> None:
        main = "org.apache.rocketmq.broker.BrokerStartup"
        super().__init__(name, home, main, free_port(broker=True), jvm, version)
        self.store = home / "store"
        self._namesrv = namesrv
        self.config = {
            "brokerClusterName": "DefaultCluster",
            "brokerName": name,
            "brokerId": "0",
            "brokerRole": "ASYNC_MASTER",
            "flushDiskType": "ASYNC_FLUSH",
            "namesrvAddr": namesrv.addr,
            "listenPort": str(self.port),
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"),
            "mappedFileSizeCommitLog": str(16 << 20),
            "mappedFileSizeConsumeQueue": "60000",
            "maxHashSlotNum": "10000",
            "maxIndexNum": "40000",
            # Two cores for everything: a stall must not turn into SYSTEM_BUSY.
            "waitTimeMillsInSendQueue": "10000",
            "osPageCacheBusyTimeOutMills": "10000",
        } | (_LATER if version != REFERENCE else {})

    def is_ready(self) -> bool:
        """Return whether it says so itself and the name server knows it."""
        if b"boot success" not in (self.home / "stdout.log").read_bytes():
            return False
        return self.addr.encode() in call(self._namesrv.addr, frame(_GET_BROKER_CLUSTER_INFO, {}))


class JavaCluster:
    """A name server and ``masters`` masters named broker-a, broker-b, …; a context manager.

    ``topics`` maps names to queues per master; ``config`` holds broker properties for every
    master; ``jvm`` replaces the small default heap; ``version`` is one of java_jars. Raises
    JavaClusterError, JavaBuildError.
    """

    def __init__(
        self,
        masters: int = 1,
        topics: Mapping[str, int] | None = None,
        config: Mapping[str, str] | None = None,
        jvm: Sequence[str] = SMALL_JVM,
        version: str = REFERENCE,
        namesrv_config: Mapping[str, str] | None = None,
    ) -> None:
        self._namesrv_config = dict(namesrv_config or {})
        self._masters = masters
        self._topics = dict(topics or {})
        self._config = dict(config or {})
        self._jvm = jvm
        self._version = version
        self._home: Path | None = None
        self.namesrv: JavaNode
        self.brokers: list[JavaBroker] = []

    def __repr__(self) -> str:
        return f"<JavaCluster {self.brokers}>"

    @property
    def namesrv_addr(self) -> str:
        return self.namesrv.addr

    def broker(self, name: str) -> JavaBroker:
        """Return the master of that name. Raises KeyError naming those there are."""
        for broker in self.brokers:
            if broker.name == name:
                return broker
        raise KeyError(f"no broker {name!r} among {[broker.name for broker in self.brokers]}")

    def create_topic(self, name: str, queues: int, perm: int = 6) -> None:
        """Create or change the topic on every running master."""
        for broker in self.brokers:
            if broker.running:
                create_topic(broker.addr, name, queues, perm)

    def __enter__(self) -> JavaCluster:
        for attempt in range(4):
            try:
                self._start()
            except _PortTakenError:
                self._end()
                if attempt == 3:
                    raise
            except BaseException:
                self._end()
                raise
            else:
                break
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def _start(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="rocketmq-"))
        self.namesrv = JavaNode(
            "namesrv",
            self._home / "namesrv",
            "org.apache.rocketmq.namesrv.NamesrvStartup",
            free_port(),
            self._jvm,
            self._version,
        )
        self.namesrv.config = {
            "listenPort": str(self.namesrv.port),
            "kvConfigPath": str(self.namesrv.home / "kvConfig.json"),
        } | self._namesrv_config
        self.namesrv.start()
        self.brokers = []
        for index in range(self._masters):
            name = f"broker-{chr(ord('a') + index)}"
            home = self._home / name
            broker = JavaBroker(name, home, self.namesrv, self._jvm, self._version)
            broker.config |= self._config
            if needs_accounts(broker.config):
                write_rules(home)
            self.brokers.append(broker)
            broker.launch()
        for broker in self.brokers:
            broker.wait_ready()
        for topic, queues in self._topics.items():
            self.create_topic(topic, queues)

    def _end(self) -> None:
        for node in [*self.brokers, getattr(self, "namesrv", None)]:
            if node is not None:
                node.kill()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)


def wait_until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Poll, first each 20 ms: another process has no event to wait for.

    Raises TimeoutError after three times ``timeout_s``: at times the machine is that slow.
    """
    began_s = time.monotonic()
    while not condition():
        if (waited_s := time.monotonic() - began_s) > _SLOWEST * timeout_s:
            raise TimeoutError(f"not within {_SLOWEST * timeout_s} s")
        time.sleep(min(0.02 + waited_s / 20, 0.25))  # a long wait leaves the processor to others
