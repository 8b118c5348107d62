"""Producers and consumers for programs: blocking ones, and their asynchronous twins.

A face has settings, a core (`fakemq.client.producing`, `fakemq.client.consuming`), and a shared
client that carries its tasks. What both kinds have in common lies in the modules `*_base`.
"""
