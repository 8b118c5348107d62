"""How much a peer may make us hold. Where Java has a limit it is Java's."""

from __future__ import annotations

from typing import Final, NamedTuple

FRAME_MAX_BYTES: Final = 16_777_216
"""A whole frame, its length word included. Source: remoting/netty/NettyDecoder.java (4.9.7)"""

HEADER_MAX_BYTES: Final = 2 * 1024 * 1024
"""A header: the worst take a microsecond a byte to read, while others wait. Java has no limit."""

CONFIG_BODY_MAX_BYTES: Final = 1024 * 1024
"""The properties of a config update, for the same reason. Java has no limit."""

JSON_MAX_ITEMS: Final = 100_000
"""Commas and opening brackets in the JSON of a request, for the same reason: some 10,000
subscriptions. Java has no limit."""


class JsonLimits(NamedTuple):
    """How much JSON is read that has another form than its class, by where it comes from.

    JSON that a typed decoder takes has no limit here: its megabyte takes 5 ms.
    """

    lax_bytes: int
    """Bytes of JSON that only fastjson reads: up to a microsecond each."""
    items: int
    """Commas and opening brackets of JSON that is fitted to its class value by value."""
    quoted_bytes: int
    """Bytes of JSON that is standard but for its keys, as tables of offsets are."""


PEER_JSON: Final = JsonLimits(32 * 1024, JSON_MAX_ITEMS, 4 * 1024 * 1024)
"""What any peer sends, to a server or to a client. Java has no limit."""

ANSWER_JSON: Final = JsonLimits(32 * 1024, 1_000_000, FRAME_MAX_BYTES)
"""Answers that a client has asked for, and that have objects for keys: 65,536 queues."""

RECORD_MAX_BYTES: Final = 32 * 1024
"""A stored record of the revive topic. A broker writes 9 KiB at most: 127 offsets, three names."""

RECORD_JSON: Final = JsonLimits(0, 1_000, 0)
"""A stored record of the revive topic: a broker writes standard JSON, of 127 messages at most.
There may be thousands of such records, and a start reads them all again."""

FILE_JSON: Final = JsonLimits(256 * 1024 * 1024, 1_000_000_000, 256 * 1024 * 1024)
"""A file in a directory of the user: no peer waits yet. It is as large as the user has it."""

REGISTER_BODY_MAX_BYTES: Final = 4 * 1024 * 1024
"""The body of a REGISTER_BROKER from outside, inflated if it is compressed: some 30,000 topics.
Java has no limit."""

SUBSCRIPTION_MAX_CHARS: Final = 100_000
"""The text of a subscription, tags or a filter: no other peer is answered while it is read. Java
has no limit."""

MESSAGE_BODY_MAX_BYTES: Final = 64 * 1024 * 1024
"""A message's compressed body, unpacked; producers send 4 MiB at most. Java has no limit."""

UNREAD_MAX_BYTES: Final = 64 * 1024 * 1024
"""What is written to a peer that does not read, beyond what the system takes. Java has no limit."""

UNWRITTEN_MAX_BYTES: Final = 1024 * 1024
"""Bodies of answers to requests that came together: written before the next request is looked at,
and that waits until the peer reads."""

HELD_MAX_BYTES: Final = 256 * 1024 * 1024
"""What all peers of a cluster make it hold: frames half received, answers unread. Java's is its
direct memory."""

MOST_REPLICAS: Final = 1_000
"""The ids of one group of replicas, and the members of a set: each election looks at all of them.
Java has no limit."""

ATTEMPT_ID_MAX_CHARS: Final = 1_000
"""The id of an attempt: each queue that is popped in order keeps one, in memory and in a file.
Clients have 36. Java has no limit."""
ATTEMPT_ID_TOO_LONG: Final = f"fakemq keeps no attempt id of over {ATTEMPT_ID_MAX_CHARS} characters"
