"""Tests with processes and real clients: JVMs, Go, Spark and real brokers."""
