"""What a message has that clients of its kind are known to fail on while they decode it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.biographies.because import times_text
from fakemq.biographies.commits import has_acked
from fakemq.biographies.findings import Findings, name_of
from fakemq.biographies.steps import lacks_tag
from fakemq.events.filters import TagCollided
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.message import decompressed_body
from fakemq.protocol.sysflag import MessageSysFlag

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.biographies.pops import Place
    from fakemq.protocol.message import MessageExt

_LOOKED_AT_BYTES = 1 << 20
"""How much of a compressed body is unpacked: what cannot be unpacked fails at its beginning."""
_MORE = "unpacks to over"


def add_dropped(
    chronicle: Chronicle, place: Place, groups: set[str], found: Findings, name: str
) -> None:
    """Add a message whose client drops it because of its tag, once for each of some groups.

    Remove these groups.
    """
    for entry in chronicle.collided.get(place, ()):
        one = entry.event
        assert isinstance(one, TagCollided)
        if one.group in groups and not chronicle.received(place, one.group):
            groups.remove(one.group)  # once is enough
            lacks = lacks_tag(one.expression, one.tag, one.same_as)
            side = "front" if chronicle.is_grpc(one.peer) else "client"
            drops = f"delivered to {one.group}, {lacks}: the {side} drops it"
            found.add(place[1], drops, name)


def add_undecodable(
    chronicle: Chronicle, place: Place, groups: set[str], stored: MessageExt, found: Findings
) -> None:
    """Add a message that was delivered to some groups, and that their clients cannot decode."""
    if is_usual(stored):
        return
    times = chronicle.receivers(place, chronicle.delivered.get(place, ()))
    for group in sorted(groups & times.keys()):
        fails = undecodable(stored, acked=has_acked(chronicle, place, group))
        if fails:
            to = f"delivered {times_text(times[group])} to {group}, and {fails}"
            found.add(stored.topic, to, name_of(stored))


def is_usual(stored: MessageExt) -> bool:
    """Return whether a quick look finds nothing odd, as with most messages."""
    return bool(stored.body) and not stored.sys_flag & MessageSysFlag.COMPRESSED


def undecodable(stored: MessageExt, *, acked: bool) -> str:
    """Return on what a client fails, and what becomes of the message there; "" for nothing.

    An empty body: ``decode`` leaves the body null, and ProcessQueue of 4.9.7 asks for its length
    when it has noted the message, so its offset is never committed: if the group has ``acked`` it,
    its client is another one. Source:
    client/impl/consumer/ProcessQueue.java#putMessage (4.9.7; 5.5.0 takes null).

    A body that cannot be unpacked: ``decode`` returns null, and ``decodes`` ends there; fakemq's
    client leaves out this one only. Source: common/message/MessageDecoder.java#decode, #decodes
    (4.9.7, 5.5.0).
    """
    if not stored.body and acked:
        return ""
    if not stored.body:
        return (
            "its body is empty: Java clients up to 4.9.7 throw a NullPointerException when they get"
            " it (ProcessQueue.putMessage), their listener gets nothing of that answer, and they"
            " never acknowledge it"
        )
    try:
        decompressed_body(stored, _LOOKED_AT_BYTES)
    except LocalProtocolError:
        return ""  # a module is missing here, which Java clients have
    except RemoteProtocolError as error:
        if _MORE in str(error):
            return ""
        return (
            f"its sysFlag {stored.sys_flag:#x} says that its body is compressed, and it cannot be"
            " unpacked: Java clients drop it and all behind it in the same answer, without a word,"
            " and acknowledge them; Python clients of fakemq drop this one"
        )
    return ""
