"""Explains bytes field by field, by the declarations in `fakemq.protocol.layout`.

It reads what the product reads, but slowly and to the end: a bad length or number is a finding with
its offset, not an exception.
"""
