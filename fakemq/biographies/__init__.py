"""Biographies: what happened to a message, and why it has not been consumed.

`chronicle` indexes the journal by record. `walk` follows a message from its first record to all
records made from it, such as retries; the result is a `biography` of `steps`. `biographer` answers
callers in any thread. `diagnosis` names the most likely reason why messages are not consumed.
"""
