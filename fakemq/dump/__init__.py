"""``python -m fakemq dump``: shows and checks a store directory, of fakemq or of Java.

It only reads: it locks nothing and writes nothing, so a broker may run on the directory meanwhile.
"""
