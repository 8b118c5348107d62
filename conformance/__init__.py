"""The same scenarios on fakemq and on real RocketMQ.

Nothing below ``fakemq.handles`` and ``fakemq.events`` is imported here: `test_imports` holds it.
"""
