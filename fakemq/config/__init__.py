"""What a cluster shall be: RocketMQ's keys, files and options. Nothing here starts anything."""
