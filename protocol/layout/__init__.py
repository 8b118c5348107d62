"""Binary layouts, all big endian: construct declarations, and codecs that are generated from them.

The declarations are for readers and for tests: importing construct costs 20 ms, and parsing with it
takes 35 times as long as with struct. `fakemq.protocol.layout.derive` generates straight-line
struct code from them, `fakemq.protocol.layout.codecs`, which all other modules import. Tests prove
that the file is what derive generates now, and that both agree on every input.
"""
