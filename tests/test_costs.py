"""What `make check` leaves to `make test`: only what is expensive, and never a whole file."""

from __future__ import annotations

import json

from tests.costs import FILE, MOST, too_expensive


def test_only_what_is_expensive_is_left_out_and_of_every_file_something_is_run() -> None:
    names = ["a.py::x", "a.py::y", "b.py::z", "b.py::z[1]", "c.py::new"]
    costs = {"a.py::x": 3.0, "b.py::z": 9.0, "b.py::z[1]": 9.5}
    assert too_expensive(names, costs) == {"a.py::x", "b.py::z[1]"}
    assert too_expensive(names, dict.fromkeys(names, MOST)) == set()


def test_what_is_listed_is_expensive() -> None:
    assert all(cost >= MOST for cost in json.loads(FILE.read_text(encoding="utf-8")).values())
