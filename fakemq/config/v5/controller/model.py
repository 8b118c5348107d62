"""The config of a controller of RocketMQ 5.5.0, and of a name server with one in it."""

from __future__ import annotations

from typing import ClassVar

from fakemq.config.model import Config, port_of
from fakemq.config.v5.controller.keys import ControllerKeys, JraftKeys
from fakemq.config.v5.keys import NamesrvKeys5, NettyClientKeys5, NettyServerKeys5

JRAFT = "jRaft"
"""The ``controllerType`` of jRaft; any other text is DLedger, as in Java."""


class ControllerConfig(Config, ControllerKeys, NettyServerKeys5, JraftKeys, NettyClientKeys5):
    """All keys that 5.5.0's controller reads. Source: controller/ControllerStartup.java (5.5.0)"""

    release = "5.5.0"
    tables: ClassVar[tuple[type, ...]] = (
        ControllerKeys,
        JraftKeys,
        NettyClientKeys5,
        NettyServerKeys5,
    )
    not_in_answers = (JraftKeys, NettyClientKeys5)
    answers_are_sorted = True
    listen_port: int = 19876

    @property
    def metrics_port(self) -> int | None:
        """The port at which Prometheus reads its metrics, 0 for a free one; None without one."""
        return port_of(self.metrics_exporter_type, self.metrics_prom_exporter_port)

    @property
    def is_jraft(self) -> bool:
        """Whether its addresses are those of jRaft, not of DLedger."""
        return self.controller_type == JRAFT

    @property
    def group(self) -> str | None:
        """The name of its group of controllers."""
        return self.j_raft_group_id if self.is_jraft else self.controller_d_leger_group


class NamesrvWithControllerConfig(
    Config, NamesrvKeys5, NettyServerKeys5, ControllerKeys, JraftKeys
):
    """All keys of a file that is for a name server and for the controller in it.

    Source: namesrv/NamesrvStartup.java#parseCommandlineAndConfigFile (5.5.0)
    """

    release = "5.5.0"
    tables: ClassVar[tuple[type, ...]] = (
        NamesrvKeys5,
        NettyServerKeys5,
        ControllerKeys,
        JraftKeys,
    )
    listen_port: int = 9876
