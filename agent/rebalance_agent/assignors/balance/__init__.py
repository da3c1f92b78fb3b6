"""Balance decided on counts, proven best, and kept with the fewest moves; then the partitions picked."""
