"""The templates: what is put into a page is escaped, and only drawings of our own are taken as they stand."""

from __future__ import annotations

import re
import subprocess
import sys

import jinja2
import pytest

from whichdo.report import page
from whichdo.report.page import TEMPLATES

DRAWINGS = {"arms.axis", "dark_rules", "drawing", "leans.graph", "leans.one_edge.drawing", "line.drawing"}


def test_only_drawings_are_marked_as_safe() -> None:
    marked = {
        name
        for path in TEMPLATES.glob("*.html")
        for name in re.findall(r"{{ ([\w.]+) \| safe }}", path.read_text(encoding="utf-8"))
    }
    assert marked == DRAWINGS
    texts = [path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html")]
    assert sum(len(re.findall(r"\bsafe\b", text)) for text in texts) == sum(text.count("| safe }}") for text in texts)
    assert not any("autoescape" in text for text in texts)


def test_what_is_put_into_a_page_is_escaped_and_can_be_shown() -> None:
    environment = page._environment()
    found = environment.from_string('<p class="{{ a }}">{{ a }}{{ b }}</p>').render(a="<i>\"'&\x00\u202e", b=3)
    assert found == '<p class="&lt;i&gt;&#34;&#39;&amp;\ufffd\ufffd">&lt;i&gt;&#34;&#39;&amp;\ufffd\ufffd3</p>'
    with pytest.raises(jinja2.UndefinedError):
        environment.from_string("{{ nobody }}").render()


@pytest.mark.slow("1 s: a fresh interpreter; finds a template engine that every command loads")
def test_templates_are_loaded_only_where_a_page_is_made() -> None:
    code = "import sys, whichdo; whichdo.write_report, whichdo.Campaign; print('jinja2' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
