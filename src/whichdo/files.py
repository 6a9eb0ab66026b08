"""Files that are written as a whole or not at all, and never over something that is not ours.

What may be replaced: nothing, an empty file, or a regular file that carries the mark of what is being written (a `Kind`
knows it).  ``force`` also replaces other regular files.  Never replaced, even so: a device, a pipe, a socket, a
folder, a database, a link to one of these.

A file comes to be under another name beside its place (``.name.0123456789abcdef.part``), is forced to the disk, and
then takes its place in one step.  Its writer holds a lock on it, so what a writer that was killed has left behind can
be told from what another is writing, and is removed the next time.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
import stat
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import finalize

from whichdo.errors import ConflictError, InputError, UsageError
from whichdo.remedies import Option
from whichdo.text import quoted, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


MARK = "whichdo"
"""Who made a file, where its form has a place to say so."""
HEAD = 1 << 16
"""Bytes of a file, at its beginning and at its end, in which its mark is looked for."""
PACKED = b"\x1f\x8b"
DATABASE = b"SQLite format 3\x00"
BESIDE = ("-wal", "-shm", "-journal", "-lock")
"""How the files are named that a database keeps beside itself."""
DRAFT = re.compile(r"[0-9a-f]{16}\.part")


@dataclass(frozen=True)
class Kind:
    """A kind of file that we write, and how one that is there is known to be ours by its beginning and its end."""

    name: str
    is_ours: Callable[[bytes, bytes], bool]


def _is_export(head: bytes, _end: bytes) -> bool:
    return head.startswith(b'{"body":{') and b'"made_by":{' in head and b'"whichdo":"' in head


def _is_page(head: bytes, _end: bytes) -> bool:
    return head.startswith(b"<!doctype html>") and b'<meta name="generator" content="whichdo">' in head


def _is_drawing(head: bytes, end: bytes) -> bool:
    if head.startswith(b"\x89PNG"):
        return b"tEXtSoftware\0whichdo" in head
    if head.startswith(b"%PDF"):
        return b"/Creator (whichdo)" in head + end
    return head.lstrip().startswith((b"<svg", b"<?xml")) and (
        b'data-made-by="whichdo"' in head or b"<dc:title>whichdo</dc:title>" in head
    )


EXPORT = Kind("an export", _is_export)
PAGE = Kind("a page of whichdo", _is_page)
DRAWING = Kind("a drawing of whichdo", _is_drawing)
SAVED = Kind("a file", lambda _head, _end: True)
"""What a program saves by name (`write_graph`, `write_problem`): it replaces any regular file but a database."""


def check_target(path: Path, kind: Kind, *, force: bool = False) -> None:
    """Refuse, before anything long is done, a path that `write_file` would refuse."""
    try:
        _check(_end_of_links(path), path, kind, force=force)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def write_file(
    path: Path,
    content: str | bytes | Iterable[str],
    kind: Kind = SAVED,
    *,
    force: bool = False,
    private: bool = False,
) -> None:
    """Write a file as a whole or not at all; packed if its name ends in ``.gz``.

    ``content`` may come in parts, which are written as they come.  ``private``: for the eyes of its owner.
    """
    try:
        write_whole(path, content, kind, force=force, private=private)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def write_whole(
    path: Path,
    content: str | bytes | Iterable[str],
    kind: Kind = SAVED,
    *,
    force: bool = False,
    private: bool = False,
) -> None:
    """As `write_file`, but what the system refuses is its own OSError."""
    target = _end_of_links(path)
    free = _check(target, path, kind, force=force)
    with draft_of(target, private=private) as (draft, file):
        if not private and not free:
            with suppress(OSError):  # a file system without modes
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
        _fill(file, content, packed=path.suffix.lower() == ".gz")
        file.flush()
        os.fsync(file.fileno())
        try:
            take_place(draft, target, free=free)
        except FileExistsError:
            _check(target, path, kind, force=False)
            take_place(draft, target, free=False)


def _fill(file: IO[bytes], content: str | bytes | Iterable[str], *, packed: bool) -> None:
    parts: Iterable[bytes]
    if isinstance(content, bytes):
        parts = [content]
    else:
        parts = (part.encode() for part in ([content] if isinstance(content, str) else content))
    if not packed:
        file.writelines(parts)
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as unpacked:
        for part in parts:
            unpacked.write(part)


def _unwritable(path: Path, error: Exception) -> InputError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return InputError(f"{quoted(path)} cannot be written: {reason}. Nothing was changed.")


# ----------------------------------------------------------------------------------------------------- what is there


def _end_of_links(path: Path) -> Path:
    """Where a path leads; links that lead to each other lead nowhere."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _check(target: Path, path: Path, kind: Kind, *, force: bool) -> bool:
    """Whether nothing is there yet; an error where something is that may not be replaced."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return True
    for is_one, what in _ODD:
        if is_one(mode):
            raise UsageError(f"{visible(path)} is {what}, which is never replaced. Name a file; nothing was written.")
    if is_guarded(target) or _is_database(target):
        raise ConflictError(
            f"{visible(path)} already exists and is a database, which is never replaced. Name "
            f"another file; nothing was written."
        )
    if not force and target.stat().st_size and not kind.is_ours(*_ends(target)):
        raise ConflictError(
            f"{visible(path)} already exists and is not {kind.name}. Name another file, or overwrite it (",
            Option("force", True),
            "); nothing was written.",
        )
    return False


_ODD: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda mode: not stat.S_ISREG(mode), "not a regular file"),
)


def _is_database(target: Path) -> bool:
    """Whether a file is a database of SQLite, or one that such a database keeps beside itself."""
    with target.open("rb") as file:
        if file.read(len(DATABASE)) == DATABASE:
            return True
    owner = next((target.with_name(target.name.removesuffix(end)) for end in BESIDE if target.name.endswith(end)), None)
    if owner is None or not owner.is_file() or is_guarded(owner):
        return owner is not None and is_guarded(owner)
    with owner.open("rb") as file:
        return file.read(len(DATABASE)) == DATABASE


def _ends(target: Path) -> tuple[bytes, bytes]:
    """The first and the last bytes of a file; of a packed one those that it holds."""
    try:
        with target.open("rb") as file:
            head = file.read(HEAD)
            if head.startswith(PACKED):
                with gzip.open(target, "rb") as unpacked:
                    return unpacked.read(HEAD), b""
            file.seek(-min(HEAD, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return head, file.read(HEAD)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b"", b""


_guarded: Counter[str] = Counter()


def guard(owner: object, path: Path) -> None:
    """While ``owner`` lives, the database at ``path`` is in use here.

    Nobody may even read such a file: the system takes away SQLite's locks when any other handle of it is closed.
    """
    name = str(path)
    _guarded[name] += 1
    finalize(owner, _let_go, name)


def _let_go(name: str) -> None:
    _guarded[name] -= 1
    if _guarded[name] <= 0:
        del _guarded[name]


def is_guarded(path: Path) -> bool:
    """Whether a path is a file of a database that is in use in this process; it is not opened to see."""
    for name in list(_guarded):
        for end in ("", *BESIDE):
            with suppress(OSError):
                if os.path.samefile(path, name + end):  # noqa: PTH121 - no path is made of each
                    return True
    return False


# ------------------------------------------------------------------------------------------------------------- drafts


@contextmanager
def draft_of(target: Path, *, private: bool = False) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new file beside a target, held by a lock; gone at the end unless it has taken its place."""
    _clear(target)
    while True:
        draft = target.with_name(f".{target.name[:100]}.{os.urandom(8).hex()}.part")
        how = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(draft, how, 0o600 if private else 0o666), "w+b")
        if _hold(file) and draft.exists():  # another may have taken it for a left-over before it was held
            break
        file.close()
    try:
        with file:
            yield draft, file
    finally:
        for end in ("", *BESIDE):
            with suppress(OSError):
                Path(f"{draft}{end}").unlink(missing_ok=True)


def _clear(target: Path) -> None:
    """Remove what writers that were killed have left beside a target."""
    start = f".{target.name[:100]}."
    try:
        names = [each.name for each in os.scandir(target.parent) if each.name.startswith(start)]
    except OSError:
        return
    for name in names:
        rest = name.removeprefix(start)
        body = next((rest.removesuffix(end) for end in BESIDE if rest.endswith(end)), rest)
        left = target.with_name(name)
        if not DRAFT.fullmatch(body) or left.is_symlink() or not left.is_file():
            continue
        if body != rest and target.with_name(start + body).exists():
            continue  # it goes with its draft
        with suppress(OSError), left.open("rb+") as file:
            if _hold(file):
                for end in ("", *BESIDE):
                    Path(f"{left}{end}").unlink(missing_ok=True)


def _hold(file: IO[Any]) -> bool:
    """Lock a file for as long as it is open; whether nobody else has."""
    try:
        import fcntl
    except ImportError:  # Windows, where a file that is open cannot be removed
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def take_place(draft: Path, target: Path, *, free: bool) -> None:
    """Put a draft in the place of its target; where that was free, a FileExistsError if something came meanwhile."""
    linked = False
    if free:
        try:
            os.link(draft, target)
            linked = True
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
    if not linked:
        draft.replace(target)
    _sync_folder(target)


def _sync_folder(target: Path) -> None:
    """Force the name to the disk, too."""
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
