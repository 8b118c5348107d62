"""The control port: control a running cluster over HTTP and JSON, from any language.

It needs the extra ``control``, and is imported only when a control port is opened.
"""
