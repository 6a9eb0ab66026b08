"""What our pages have in common: one HTML file that needs nothing else, readable on a phone, in print and in grey.

No script, no font, no picture from anywhere: a policy in the page's head forbids the browser to load a thing, so even
a name that slipped through unescaped could not call out.  Colours are those of Okabe and Ito, which the colour-blind
can tell apart, and never the only sign.  Where the reader's screen is dark the page is dark; print is always light.
"""

from __future__ import annotations

from whichdo.drawing.labels import safe
from whichdo.drawing.svg import dark_rules
from whichdo.files import MARK

__all__ = ["BEGINNING", "STYLE", "document"]

COLOURS = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1a1a1a; --faint: #666; --line: #ddd; --band: #f6f6f4;
  --blue: #0072B2; --sky: #56B4E9; --amber: #E69F00; --red: #D55E00; --grey: #777; --link: #0059b3;
  --clear: #005A8C; --leaning: #7A4F00; --leaning-line: #B87700; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ground: #14161a; --ink: #e8e6e3; --faint: #a9aeb6; --line: #363b43; --band: #1f2329;
    --blue: #5bb3ea; --sky: #2f6f96; --amber: #e0b04a; --red: #f28c3b; --grey: #9a9fa6; --link: #7cc0f2;
    --clear: #8fcdf5; --leaning: #f0cb7c; --leaning-line: #e0b04a; } }
"""
SHAPES = """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; color: var(--ink);
  background: var(--ground); max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 3rem 0 .25rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0; max-width: 46rem; }
.faint { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
a { color: var(--link); }
summary { cursor: pointer; color: var(--faint); font-size: .9rem; }
"""
STYLE = COLOURS + dark_rules("svg") + SHAPES
BEGINNING = "<!doctype html>"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, style: str, body: str) -> str:
    """A whole page; ``style`` and ``body`` as they stand, the title made safe."""
    return (
        f'{BEGINNING}\n<html lang="en">\n<meta charset="utf-8">\n<meta name="generator" content="{MARK}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{style}</style>\n{body}"
    )
