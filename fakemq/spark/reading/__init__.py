"""Topics as rows, by batch and by stream."""
