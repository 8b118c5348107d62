"""The commands of the command line, each in the module of its name, and what they share.

`fakemq.cli` imports the module of the command that is called, and no other.
"""
