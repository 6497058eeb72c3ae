"""`python -m glassformer` is the command line."""

from glassformer.cli.__main__ import run

if __name__ == "__main__":
    run()
