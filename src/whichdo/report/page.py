"""What our pages have in common: one HTML file that needs nothing else, readable on a phone, in print and in grey.

No script, no font, no picture from anywhere: a policy in the page's head forbids the browser to load anything, so even
a name that slipped through unescaped could not call out.  Colours are those of Okabe and Ito, which the colour-blind
can tell apart, and never the only sign.  Where the reader's screen is dark the page is dark; print is always light.

The pages are Jinja2 templates in ``templates/``.  Whatever is put into them is escaped; drawings of our own, which are
SVG, are marked there as such.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichdo.drawing.labels import printable
from whichdo.drawing.svg import dark_rules
from whichdo.files import MARK

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, title: str, **content: Any) -> str:
    """A whole page."""
    return _environment().get_template(template).render(title=title, **content)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # only where a page is made

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {"mark": MARK, "dark_rules": dark_rules("svg")}
    return made


def _shown(value: Any) -> Any:
    """Text without characters that a page cannot hold; markup was made from such text."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
