"""How Sphinx makes the site of the pages that `benchmarks.pages` gathers: ``make docs``."""

from typing import Any

from docutils import nodes
from sphinx.ext.napoleon import Config, NumpyDocstring

from whichdo import __version__

project = "whichdo"
author = "the whichdo authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]

html_theme = "furo"
html_title = "whichdo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

highlight_language = "none"  # what is not marked is a shell, or words
smartquotes = False  # two hyphens begin an option
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # so that a link may lead to a heading, as on GitHub
myst_enable_extensions = ["deflist", "fieldlist"]

default_role = "py:obj"  # `name` in a docstring is a link where there is such a page
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88


SECTIONS = Config(napoleon_google_docstring=False, napoleon_use_rtype=False)


def setup(app: Any) -> None:
    """Turn the sections of numpydoc into what Sphinx knows."""
    app.connect("autodoc-process-docstring", read_sections)
    app.connect("doctree-read", join_fields)


def read_sections(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """All but those of attributes, which are sentences: napoleon would take the words before a colon for a type."""
    if what not in {"attribute", "property", "data"}:
        lines[:] = NumpyDocstring(lines, SECTIONS, app, what, name, found, options).lines()


def join_fields(app: Any, page: nodes.document) -> None:  # noqa: ARG001
    """A colon between a parameter or a type and its description, where Sphinx puts two hyphens."""
    for text in list(page.findall(nodes.Text)):
        if text.startswith(" -- "):
            text.parent.replace(text, nodes.Text(f": {text[4:]}"))
