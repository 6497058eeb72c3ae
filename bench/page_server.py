"""The server of a page, as other rows ask it: an answer, and what its process uses."""

import json
import os
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

WORDS = ("the", "summer", "better", "than", "winter", "she", "likes", "he", "was", "it", "of", "day", "night", "house")


def ask(address: str, path: str, body: object = None) -> bytes:
    """An answer."""
    data = None if body is None else json.dumps(body).encode()
    while True:
        try:
            with urllib.request.urlopen(address + path, data=data, timeout=120) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            if error.code not in (503, 504):
                raise
            time.sleep(1)


def memory(process: int) -> float:
    """Megabytes of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processor_seconds(process: int) -> float:
    """The processor time that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
