"""Run the notebooks of docs/tutorials/ and keep what they show: ``make tutorials``.

A notebook is written with the outputs of a fresh run, so that it can be read without running it.  What differs from run
to run is left out: execution times, versions, and everything else that a kernel says about itself.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
SECONDS = 240
"""How long a cell may take on a busy machine before the run is given up."""
SHOWN = ("text/plain", "text/html", "image/png", "image/svg+xml")
"""Kinds of output that are kept."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebooks() -> list[Path]:
    """The tutorials, in the order of reading."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """The notebook after a run in an empty folder, with the outputs that are kept.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(book, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.extra_arguments = ["--log-level=ERROR"]  # it warns that it listens on this machine without encryption
        client.execute()
    return tidied(book)


def tidied(book: Any) -> Any:
    """The same notebook without what changes from run to run."""
    for number, cell in enumerate((each for each in book.cells if each.cell_type == "code"), start=1):
        cell.execution_count = number
        cell.outputs = [_tidied_output(output, number) for output in cell.outputs]
    for cell in book.cells:
        cell.metadata = nbformat.NotebookNode()
    book.metadata = nbformat.from_dict(METADATA)
    book.nbformat, book.nbformat_minor = 4, 5
    return book


def _tidied_output(output: Any, number: int) -> Any:
    if "data" in output:
        output.data = nbformat.from_dict({kind: output.data[kind] for kind in SHOWN if kind in output.data})
        output.metadata = nbformat.NotebookNode()
    if output.output_type == "execute_result":
        output.execution_count = number
    return output


def said(book: Any) -> list[str]:
    """The text that the cells of a notebook show, without pictures."""
    texts = []
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            shown = (
                [output.text] if "text" in output else [output.data[kind] for kind in SHOWN[:2] if kind in output.data]
            )
            texts += shown
    return texts


def main() -> None:
    """Run the notebooks that are named, or all, and write their outputs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("notebook", nargs="*", type=Path)
    for path in parser.parse_args().notebook or notebooks():
        book = executed(path)
        nbformat.validate(book)
        nbformat.write(book, path)
        print(f"{path.name}: {len(book.cells)} cells")


if __name__ == "__main__":
    main()
