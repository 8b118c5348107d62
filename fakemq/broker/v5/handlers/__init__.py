"""What a broker of 5.5.0 answers alone, or otherwise than one of 4.9.7: one module a code.

A module is named like its code, and is found by being here.
"""
