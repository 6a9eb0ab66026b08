"""How Sphinx makes the site of the pages that `benchmarks.pages` gathers: ``make docs``."""

from whichdo import __version__

project = "whichdo"
author = "the whichdo authors"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

html_theme = "furo"
html_title = "whichdo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"

source_suffix = {".md": "markdown"}
myst_heading_anchors = 4  # so that a link may lead to a heading, as on GitHub
myst_enable_extensions = ["deflist", "fieldlist"]

default_role = "py:obj"  # `name` in a docstring is a link where there is such a page
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
