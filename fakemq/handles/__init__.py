"""Handles: the objects by which a test controls a cluster, one file for each noun."""
