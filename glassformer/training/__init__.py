"""One loop that trains any task; checkpoints, resuming, schedules and logs."""
