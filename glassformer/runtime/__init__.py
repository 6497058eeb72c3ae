"""What the machine offers: device, threads, precision, compiler."""
