"""What a broker of 5.3.2 answers otherwise than one of 5.5.0: one module a code."""
