"""Biographies: what happened to a message, and why it has not been consumed.

`chronicle` indexes the journal by record. `biographer` walks from a message's first record to all
records made from it, such as retries, and writes a `biography` of `steps`. `diagnosis` names the
most likely reason why messages are not consumed.
"""
