"""Text from files nobody vouches for."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import TYPE_CHECKING

from whichdo.errors import InputError, TooLargeError
from whichdo.graph.formats.scan import show
from whichdo.text import visible

if TYPE_CHECKING:
    from pathlib import Path


#: The most that is read of a file, counted after decompression.
MAX_BYTES = 20 * 1024 * 1024
GZIP = b"\x1f\x8b"

EXPORT = "Export the graph itself, as DOT, GML or dagitty text"
WRITE = 'Write its edges as text, such as "X -> Y"'
PICKLE = "Pickles are not read, since reading one can run code. Export the graph as JSON, GML or text"
UNPACK = "Unpack it, or compress it with gzip"

#: Files that are surely no graph, by how they begin: what each is, and what to do about it.
FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    *((bytes([0x80, version]), "a Python pickle", PICKLE) for version in (2, 3, 4, 5)),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet", 'Unpack it, or write its edges as text, such as "X -> Y"'),
    (b"PK\x05\x06", "an empty ZIP archive", WRITE),
    (b"\xd0\xcf\x11\xe0", "an old Office document", WRITE),
    (b"%PDF", "a PDF document", EXPORT),
    (b"\x89PNG", "a PNG picture", EXPORT),
    (b"\xff\xd8\xff", "a JPEG picture", EXPORT),
    (b"SQLite format 3\x00", "an SQLite database", WRITE),
    (b"\xfd7zXZ", "compressed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (GZIP, "compressed twice", "Unpack it once and read the result"),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8"),
)


def read_file(path: Path) -> str:
    """The text of a file, unpacked if it is gzip; an error says what the file is instead of text."""
    data = _bytes(path)
    name = visible(path.name)
    if data.startswith(GZIP):
        data = _unpack(data, name)
    for magic, what, advice in FOREIGN:
        if data.startswith(magic):
            raise InputError(f"{name} is {what}. {advice}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from behind a byte-order mark.
        offset = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        raise InputError(
            f"{name} is not UTF-8 text: byte {offset:,} is 0x{data[offset]:02x}. Save it as UTF-8."
        ) from None


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise InputError(f"{show(str(path))} is a directory: expected a file with a graph.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"There is no file {show(str(path))}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{show(str(path))} cannot be read: {_reason(error)}.") from None
    if len(data) > MAX_BYTES:
        raise _too_large(visible(path.name))
    return data


def _unpack(data: bytes, name: str) -> bytes:
    """Unpack gzip, but no more than the limit and one byte."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(MAX_BYTES + 1)
    except EOFError:
        raise InputError(f"{name} is a gzip file that ends too early. Copy or download it again.") from None
    except (OSError, zlib.error) as error:
        raise InputError(f"{name} is a damaged gzip file ({error}). Copy or download it again.") from None
    if len(found) > MAX_BYTES:
        raise _too_large(name)
    return found


def _too_large(name: str) -> TooLargeError:
    return TooLargeError(f"{name} holds more than {MAX_BYTES // 2**20} MB, the limit for a graph.")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
