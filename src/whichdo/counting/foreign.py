"""Files that are surely no table: what each is, by how it begins, and what to do about it."""

from __future__ import annotations

import re

from whichdo.errors import quoted

__all__ = ["GZIP", "PARQUET", "foreign_bytes", "foreign_text"]

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
SHEET = "Export the sheet as CSV in UTF-8"
EXPORT = "Export the rows as CSV in UTF-8, or as Parquet"

#: Files that are surely no log, by how they begin: what each is, and what to do about it.
FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    *((bytes([0x80, n]), "a Python pickle", f"Reading one can run code. {EXPORT}") for n in (2, 3, 4, 5)),
    (b"PK\x03\x04", "a spreadsheet or a ZIP archive", f"{SHEET}, or unpack the archive"),
    (b"PK\x05\x06", "an empty ZIP archive", EXPORT),
    (b"\xd0\xcf\x11\xe0", "an old Office document", SHEET),
    (b"PARE", "an encrypted Parquet file", "Write it without encryption"),
    (b"ARROW1", "a Feather or Arrow file", "Write it as Parquet"),
    (b"ORC", "an ORC file", "Write it as Parquet"),
    (b"Obj\x01", "an Avro file", "Write it as Parquet"),
    (b"\x89HDF", "an HDF5 file", EXPORT),
    (b"\x93NUMPY", "a numpy array", EXPORT),
    (b"SQLite format 3\x00", "an SQLite database", EXPORT),
    (b"%PDF", "a PDF document", EXPORT),
    (b"\x89PNG", "a PNG picture", EXPORT),
    (b"\xff\xd8\xff", "a JPEG picture", EXPORT),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it, or compress it with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it, or compress it with gzip"),
    (b"BZh", "compressed with bzip2", "Unpack it, or compress it with gzip"),
    (GZIP, "compressed twice", "Unpack it once"),
    (b"\xff\xfe\0\0", "text in UTF-32", "Save it as UTF-8"),
    (b"\0\0\xfe\xff", "text in UTF-32", "Save it as UTF-8"),
    (b"\xff\xfe", "text in UTF-16", "Save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "Save it as UTF-8"),
    (b"{\\rtf", "an RTF document", SHEET),
)

JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*([\[{\"\]\d-]|null|true|false))")
MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
COMMENT = re.compile(rb"[ \t]*(#|%|//)")
SEPARATOR = re.compile(rb'"?sep=[^\r\n]"?[\r\n]', re.IGNORECASE)


def foreign_bytes(begin: bytes) -> str | None:
    """What a file is that begins like this, and what to do about it; None if it may be text or Parquet."""
    for magic, what, advice in FOREIGN:
        if begin.startswith(magic):
            return f"{what}. {advice}."
    wide = len(begin) >= 4 and (not any(begin[0::2]) or not any(begin[1::2]))  # every second byte is 0
    return "text in UTF-16. Save it as UTF-8." if wide and any(begin) else None


def foreign_text(begin: bytes) -> str | None:
    """What a text is that begins like this, if that is no row of names, and what to do about it.

    Certain only where no column that is looked for stands in the first row: a name may begin with any letter.
    """
    if JSON.match(begin):
        return f"is JSON, not a table. {EXPORT}; or read it into a frame and give that."
    if MARKUP.match(begin):
        return f"is a web page or XML, not a table. {EXPORT}."
    line = quoted(re.split(rb"[\r\n]", begin[:200], maxsplit=1)[0].decode("utf-8", "replace"))
    if SEPARATOR.match(begin):
        return f"begins with {line}, a word to Excel. The first line must name the columns: remove this one."
    if COMMENT.match(begin):
        return f"begins with a comment, {line}. The first line must name the columns: remove what stands before it."
    return None
