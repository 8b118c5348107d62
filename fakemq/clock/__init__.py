"""Time: clocks, timers, and the texts of durations and dates."""
