"""References: the releases of RocketMQ that name servers and brokers behave as.

A `Reference` is data: what a release says and answers, and what it begins with besides 4.9.7's own
topics (`fakemq.broker.tables.topics`). The default, 4.9.7, is here; each other one has a module,
which is imported only for a cluster of it. Behaviour that differs is in subclasses of the nodes,
and in handlers of their own. docs/architecture.md says how another one is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, cast

import msgspec

from fakemq.errors import ConfigError
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import VERSION_4_9_7
from fakemq.protocol.properties import PropertiesEncoder, encode_properties_as_java
from fakemq.protocol.topics import FAQ

_MODULES = {"4.9.7": "", "5.3.2": "v5_3", "5.5.0": "v5"}
NAMES = tuple(_MODULES)
"""The names of all references, the default first."""


class FirstTopic(NamedTuple):
    """A topic that a broker has from its first start."""

    name: str
    """``{cluster}`` and ``{broker}`` in it stand for the names of the broker's config."""
    queues: int | str
    """The number of its queues, or the config key (by attribute) that says it."""
    perm: int = 6
    only_with: str = ""
    """The config key (by attribute) without which there is no such topic; "" for none."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """One release of RocketMQ, as name servers and brokers that behave as it need it."""

    name: str
    version: int
    """Its number in MQVersion.java, which every answer has."""
    folder: str = ""
    """The folder in `fakemq.broker` and `fakemq.namesrv` with the nodes of its own; "" for none."""
    configs: str = ""
    """The module with the classes of its configs; "" for those of `fakemq.config.model`."""
    gone_codes: frozenset[int] = frozenset()
    """Request codes with a handler in ``handlers`` that its nodes do not know."""
    out_of_scope: Mapping[int, str] = {}
    """Request codes that its nodes know and fakemq refuses: the feature that each belongs to."""
    refuses_unknown_codes: bool = False
    """Whether a name server answers a code that it does not know; if not, the client times out."""
    invalid_parameter_code: int = ResponseCode.SYSTEM_ERROR
    """The code that refuses a parameter, such as a name that no topic can have."""
    answers_in_json: bool = False
    """Whether every answer has a header in JSON; if not, the header is of its request's kind."""
    json_exception: str = "com.alibaba.fastjson.JSONException"
    """The class of the exception for a body that is not the JSON it should be."""
    forbidden_type_field: str = ""
    """The field of a refused pull that says what forbids it; "" for none."""
    call_timed_out: str = (
        "wait response on the channel <{addr}> timeout, {timeout_ms}(ms),"
        " org.apache.rocketmq.remoting.netty.NettyRemotingAbstract"
        ".invokeSyncImpl(NettyRemotingAbstract.java:439)"
    )
    """What a broker says of a client that does not answer a request."""
    text_conditions: bool = False
    """Whether filters know CONTAINS, STARTSWITH and ENDSWITH; their errors then list more words."""
    refuses_negative_pulls: bool = True
    """Whether a pull of less than no message fails; if not, it gets one."""
    v5_dead_letters: bool = False
    """Whether a send to a retry topic is a dead letter only behind its last try, or at once if its
    group has locked queues; it is then never delayed."""
    immunity_lag_ms: int = 0
    """How much longer than its immunity time a half message is left alone."""
    check_sleep_ms: int = 0
    """How long a transaction check sleeps when it has read all ops and has to look again."""
    checks_name_topic: bool = False
    """Whether a question about a transaction says from which broker and topic it comes."""
    waits_for_slaves: bool = True
    """Whether a SYNC_MASTER answers a send when a slave has it; later ones do so as inSyncReplicas
    says, and that says no by default."""
    stores_moved_offsets: bool = True
    """Whether a broker stores a message about each consumer that it sends to another offset."""
    notifies_broadcasting: bool = True
    """Whether the members of a group that consumes by broadcast are notified of its changes."""
    faq: str = FAQ
    """What stands behind remarks that a reader could look up."""
    acl_is_off: str = ""
    """What a broker without access control says to requests for it; "" for Java's null pointer."""
    reads_acl_enable: bool = True
    """Whether aclEnable switches the access control of 4.9.7 on."""
    has_priorities: bool = False
    """Whether a message with a priority goes to the queue of its priority."""
    has_lite_topics: bool = False
    """Whether a message with a lite topic goes to the light queue of that, too."""
    suspends_pops: bool = False
    """Whether a message that was suspended comes again without an attempt more."""
    marks_revived: bool = False
    """Whether a message that comes again to a group that pops has the group's name."""
    checks_request_modes: bool = False
    """Whether topic and group must exist for which a request mode is set."""
    counts_tables: bool = False
    """Whether an answer with all topics or groups says how many there are."""
    indexes_tags: bool = False
    """Whether messages are found by their tags."""
    encode_properties: PropertiesEncoder = encode_properties_as_java
    """How a broker writes the properties of messages."""
    first_topics: tuple[FirstTopic, ...] = ()
    """The topics of a first start in addition to those of 4.9.7, in Java's order."""
    message_types: tuple[str, ...] = ()
    """The types that a topic may be of; without any, topics have no types."""
    topic_settings: Mapping[str, object] = {}
    """The values of settings of topics (by attribute) that 4.9.7 does not have."""
    group_settings: Mapping[str, object] = {}
    """The same of groups."""
    built_in_groups: tuple[str, ...] = ()
    """The groups of a first start in addition to those of 4.9.7."""
    system_topics: tuple[str, ...] = ()
    """Java's own topics in addition to those of 4.9.7."""

    @property
    def version_name(self) -> str:
        """The name of `version`, such as ``V4_9_7``."""
        return f"V{self.name.replace('.', '_')}"


V4_9_7 = Reference(name="4.9.7", version=VERSION_4_9_7)
"""The default reference, which the code of name servers and brokers follows."""


def find_reference(name: str) -> Reference:
    """Return the reference of this name; raise ConfigError for an unknown one."""
    if name == V4_9_7.name:
        return V4_9_7
    if name not in NAMES:
        raise ConfigError(f"reference={name!r}: expected {' or '.join(NAMES)}")
    module = import_module(f"fakemq.reference.{_MODULES[name]}")
    return cast("Reference", module.REFERENCE)
