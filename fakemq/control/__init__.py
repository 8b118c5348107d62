"""The control port: a running cluster steered over HTTP and JSON, from any language.

Needs the extra ``control``; nothing of it is imported where no control port is asked for.
"""
