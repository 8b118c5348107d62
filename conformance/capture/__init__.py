"""Tools that record bytes of a real cluster for the tests of ``tests/``; each is a command."""
