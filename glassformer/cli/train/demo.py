import sys
from pathlib import Path
from typing import Annotated

import typer

from glassformer.base.wrapping import for_stream, width_of, wrapped_command
from glassformer.cli.terminal.options import OUT


def demo(out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help=OUT)] = Path("runs")) -> None:
    """Train two small models and show what they learn: on three sentences for a few seconds, then on English text for
    two minutes. The demo takes about four minutes on two cores. To continue after Ctrl-C, run the same command again.
    The exit code is 1 if a model misses its target accuracy.
    """
    from glassformer.cli.train.demo_run import run

    try:
        broken = run(out)
    except KeyboardInterrupt as stopped:
        again = ["glassformer", "demo", "--out", str(out)]
        stopped.add_note(wrapped_command("continue with:", again, width_of(sys.stderr)))
        raise
    for sentence in broken:
        print(for_stream(f"glassformer: {sentence}", sys.stderr), file=sys.stderr)
    if broken:
        raise typer.Exit(1)
