"""Cells that are done, one a line, so that a run that was killed goes on where it stopped.

The first line says what run it is: a cell of another seed, size or version of the program is another cell.  A line is
written whole and on disk before the next cell counts as done; one that was cut short by a crash is found by its
checksum and dropped, and its cell is done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from whichdo._version import __version__
from whichdo.errors import StorageError
from whichdo.experiments.cells import Cell, Finding, Key
from whichdo.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


FORMAT = 1
NAME = "cells.jsonl"


@dataclass(frozen=True)
class Heading:
    """What decides the numbers of every cell."""

    seed: int
    quick: bool
    version: str = __version__
    sources: str = ""
    format: int = FORMAT


class Journal:
    """The findings in a folder; `opened` makes one, and holds it against other processes."""

    def __init__(self, file: BinaryIO, heading: Heading) -> None:
        self._file = file
        self.found: dict[Key, Finding] = {}
        self._read(heading)

    def add(self, cell: Cell, findings: Iterable[Finding]) -> None:
        """Keep what was found; on disk when this returns."""
        for finding in findings:
            self.found[(*cell[:3], finding.policy)] = finding
            self._write({"cell": cell[:3], "finding": asdict(finding)})
        self._sync()

    def _read(self, heading: Heading) -> None:
        lines, whole = [], 0
        for line in self._file:
            content = _check(line)
            if content is None:
                break
            lines.append(content)
            whole += len(line)
        if not lines and self._file.seek(0, os.SEEK_END) > 0:
            raise StorageError(f"{NAME} in the folder is not a journal of whichdo. Choose another --out, or remove it.")
        if len(lines) > 1:
            _compare(lines[0], heading)
            for content in lines[1:]:
                self._keep(content)
        else:
            whole = 0  # nothing was done under the heading that is there: it is written anew
        self._file.seek(whole)
        self._file.truncate()
        if whole == 0:
            self._write(asdict(heading))
            self._sync()

    def _keep(self, content: dict[str, Any]) -> None:
        experiment, panel, network = content["cell"]
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in content["finding"].items()
        }
        given["best"] = tuple(float("nan") if share is None else share for share in given["best"])
        finding = Finding(**given)
        self.found[experiment, panel, network, finding.policy] = finding

    def _write(self, content: dict[str, Any]) -> None:
        text = json.dumps(_without_nan(content), allow_nan=False, separators=(",", ":"))
        self._file.write(f"{zlib.crc32(text.encode()):08x} {text}\n".encode())

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def opened(folder: Path, seed: int, *, quick: bool) -> Iterator[Journal]:
    """The journal of a folder, which is made if there is none; nobody else can write it meanwhile."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / NAME
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
    except OSError as error:
        raise StorageError(f"{visible(folder)} cannot be used for results: {error.strerror or error}.") from None
    with file:
        _lock(file, folder)
        yield Journal(file, Heading(seed, quick, sources=sources()))


def sources() -> str:
    """A hash of the package's code: results of other code are not mixed with these."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise StorageError(
            f"Another process is writing results into {visible(folder)}. Wait for it, or choose another --out."
        ) from None


def _check(line: bytes) -> dict[str, Any] | None:
    """What a line says; None if it is not whole."""
    check, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or check != f"{zlib.crc32(text):08x}".encode():
        return None
    content: dict[str, Any] = json.loads(text)
    return content


def _compare(found: dict[str, Any], wanted: Heading) -> None:
    """Refuse to go on with a run that was another one."""
    differing = [
        f"{name} {found.get(name)}, not {value}" for name, value in asdict(wanted).items() if found.get(name) != value
    ]
    if differing:
        raise StorageError(
            f"The folder holds cells of another run ({'; '.join(differing)}); they are not mixed. "
            f"Choose another --out, or remove it."
        )


def _without_nan(content: Any) -> Any:
    """JSON has no NaN; a share that is not known is null."""
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_without_nan(value) for value in content]
    return None if content != content else content  # noqa: PLR0124
