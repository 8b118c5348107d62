"""``python -m fakemq dump``: what a store directory holds, fakemq's or Java's, and whether it fits.

Only reads: nothing is locked, nothing is written, and a broker may run on the directory meanwhile.
"""
