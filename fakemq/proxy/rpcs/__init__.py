"""One module for each RPC that the proxy of 5.5.0 implements, named like the RPC.

An RPC without a module is answered with UNIMPLEMENTED, as there: the four that pull.
"""
