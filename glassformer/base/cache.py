"""Where files are kept that can be made again."""

import os
import sys
import tempfile
from pathlib import Path

ENGINES, MEASURED, RECENT = "engines", "measured", "recent.json"
"""What is in this folder: converted models, which ways to compute are faster here, and the places of the models that
`explore` opened last.
"""


def cache_folder() -> Path:
    """GLASSFORMER_CACHE, else the system's folder for such files; it may not exist. Raises OSError without a home."""
    if own := os.environ.get("GLASSFORMER_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        usual = "~/Library/Caches"
    else:
        usual = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(usual or "~/.cache").expanduser() / "glassformer"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def not_kept(error: OSError) -> str:
    """What commands say when a converted model cannot be written to the cache folder."""
    return f"the converted model cannot be kept ({error.strerror or error})"


def check_writable(folder: Path) -> None:
    """Raise the OSError that making or filling a folder would raise; nothing is left there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.TemporaryFile(dir=folder):
        pass
