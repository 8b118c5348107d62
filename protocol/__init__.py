"""The wire protocol and byte layouts of RocketMQ 4.9.7, sans-IO.

Bytes in, commands out. No module of this package waits, opens a socket or reads a clock.
"""

if __name__ != "fakemq.protocol":
    raise ImportError(
        f"import fakemq.protocol, not {__name__}: the folder is on sys.path only because the"
        " checkout is; two copies of one module would not know each other's classes"
    )
