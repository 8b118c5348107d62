"""The message store: commit log, consume queues and index, as bytes over a `Files` seam."""
