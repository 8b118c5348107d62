"""What became of messages: the journal read along the links between their records.

`chronicle` reads the journal once and knows which entry is about which record; `steps` are what a
`biography` is made of; `biographer` walks from a message's first record to all that was made from
it; `diagnosis` says what most likely keeps a message from being consumed.
"""
