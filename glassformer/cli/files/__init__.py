"""The commands that read and write other formats."""
