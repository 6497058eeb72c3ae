"""What the machine offers: its device, its threads, its precision, its compiler."""
