"""Binary layouts, all big endian: construct declarations, and twins of them for running code.

The declarations are for people and for proof: importing construct costs 20 ms and parsing with it
35 times as much as struct. `fakemq.protocol.layout.derive` writes straight-line struct code from
them, `fakemq.protocol.layout.codecs`, which is what everyone else imports; tests prove that it is
what derive writes now, and that both agree on every input.
"""
