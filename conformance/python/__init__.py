"""The program of conformance/java with the Python client in the place of Java's."""
