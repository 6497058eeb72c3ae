"""The commands that train and measure."""
