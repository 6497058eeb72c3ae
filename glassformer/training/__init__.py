"""One loop that trains any task; schedules, checkpoints, resuming."""
