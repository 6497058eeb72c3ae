"""What all commands use: screen, options, files in and out."""
