"""Files of other people's packages that tests read, without importing the packages."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

PGMPY = "pgmpy==1.1.2"


def pgmpy_models() -> Path:
    """The directory of pgmpy's example models (dagitty texts, BIF files); where it cannot be had, skip."""
    found = _pgmpy_models()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _pgmpy_models() -> Path | str:
    spec = importlib.util.find_spec("pgmpy")
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        models = Path(root) / "utils" / "example_models"
        if (models / "M-bias.txt").is_file():
            return models
    return _download()


def _download() -> Path | str:
    store = Path(tempfile.gettempdir()) / "whichdo-test-wheels"
    models = store / "unpacked" / "pgmpy" / "utils" / "example_models"
    if (models / "M-bias.txt").is_file():
        return models
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(store), PGMPY]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        (wheel,) = store.glob("pgmpy-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            wanted = [name for name in archive.namelist() if name.startswith("pgmpy/utils/example_models/")]
            archive.extractall(store / "unpacked", wanted)
    except (subprocess.SubprocessError, OSError, ValueError, zipfile.BadZipFile) as error:
        return f"{PGMPY} is neither installed nor can it be downloaded: {error}"
    return models
