"""How much a peer may make us hold. Where Java has a limit it is Java's."""

from __future__ import annotations

FRAME_MAX_BYTES = 16_777_216
"""A whole frame, its length word included. Source: remoting/netty/NettyDecoder.java (4.9.7)"""

HEADER_MAX_BYTES = 2 * 1024 * 1024
"""A header: the worst take a microsecond a byte to read, while others wait. Java has no limit."""

CONFIG_BODY_MAX_BYTES = 1024 * 1024
"""The properties of a config update, for the same reason. Java has no limit."""

REGISTER_BODY_MAX_BYTES = 64 * 1024 * 1024
"""A compressed REGISTER_BROKER body, inflated: some 700 000 topics. Java has no limit."""

MESSAGE_BODY_MAX_BYTES = 64 * 1024 * 1024
"""A message's compressed body, unpacked; producers send 4 MiB at most. Java has no limit."""

UNREAD_MAX_BYTES = 64 * 1024 * 1024
"""What is written to a peer that does not read, beyond what the system takes. Java has no limit."""

UNWRITTEN_MAX_BYTES = 1024 * 1024
"""Bodies of answers to requests that came together: written before the next request is looked at,
and that waits until the peer reads."""

HELD_MAX_BYTES = 256 * 1024 * 1024
"""What all peers of a cluster make it hold: frames half received, answers unread. Java's is its
direct memory."""
