"""User-visible text is plain English: words of our old dialect do not come back."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "whichdo"
INSTEAD = {
    r"dear(?:er|est|ly)?": "expensive",
    r"money": "budget",
    r"pric(?:e|es|ed|ey|ier)": "cost",
    r"letters": "characters",
    r"texts": "strings",
    r"(?:is|are|as) (?:a|one|the|no) text": "a string",
    r"(?:is|are|was|were) no(?! longer| more| fewer| less)": "is not a",
    r"(?:has|have) no name": "has no attribute",
    r"(?:is|are|was|were) none": "is not one",
    r"at hand": "logged, already available",
    r"(?:pulls?|model|file|package|value|name|column|process|page|module) of (?:your|its|their|our) own": "own",
    r"minds": "supports",
    r"(?:is|are|was|were|be) said": "is reported",
    r"(?:policy|reader|worker|process|driver|who|what|nothing) (?:is|are|was|were|should be) told": "receives",
    r"told was": "the row belongs to",
    r"holds texts": "contains values that are not strings",
    r"looks so often": "draws n observations",
    r"who(?:so)?ever": "anyone who",
    r"(?:database|file)s? of form|form \d+ of": "schema version",
    r"must be a text": "must be a string",
    r"(?:is|are|was|were) there already": "already exists",
    r"(?:is|are) (?:open|paused|forbidden|running) since": "has been ... since",
    r"told now": "the new row",
    r"(?:a|one) (?:row|event|line|ticket) a (?:row|line|pull)": "one row per line",
    r"otherwise than": "differently from",
    r"logs (?:are )?of today": "logs are up to date",
}
"""What must not occur, and what to write instead."""
ALLOWED = (
    r"[Tt]here (?:is|are|was|were) (?:no|none)\b",
    r"(?:is|are|was|were) None\b",
    r"UTF-8 text",
    r"letters, digits and underscores",
)
"""Uses that are ordinary English: letters of the alphabet, and Python's None."""
DIALECT = re.compile("|".join(rf"(?P<w{n}>\b(?:{each})\b)" for n, each in enumerate(INSTEAD)), re.IGNORECASE)
PERMITTED = re.compile("|".join(ALLOWED))


def found_in(text: str) -> list[str]:
    """The phrases of a text that must not occur, each with what to write instead."""
    prose = re.sub("``[^`]*``", "code", " ".join(text.split()))
    plain = PERMITTED.sub(lambda match: "-" * len(match[0]), prose)
    advice = list(INSTEAD.values())
    return [
        f"{plain[max(0, match.start() - 30) : match.end() + 30]!r}: write {advice[int(str(match.lastgroup)[1:])]!r}"
        for match in DIALECT.finditer(plain)
    ]


def strings(source: str) -> list[tuple[int, str]]:
    """Docstrings and messages of a module with their lines; the parts of an f-string are joined by a placeholder."""
    tree, inside, found = ast.parse(source), set[int](), list[tuple[int, str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and id(node) not in inside:
            inside |= {id(part) for part in ast.walk(node)}
            said = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            said = node.value
        else:
            continue
        if " " in said.strip():
            found.append((node.lineno, said))
    return found


def prose(page: Path) -> str:
    """What people read of a page: of a notebook the text, of Markdown all but blocks of code and results."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return "\n".join("".join(cell["source"]) for cell in cells)
    if page.suffix == ".html":
        return re.sub(r"{[#%{].*?[#%}]}|<style.*?</style>", "", text, flags=re.DOTALL)
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


MODULES = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in [
        *sorted(ROOT.glob("*.md")),
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "decisions").glob("*.md")),
        *sorted((ROOT / "docs" / "tutorials").glob("*.*")),
        *sorted(PACKAGE.rglob("*.html")),
    ]
]


@pytest.mark.parametrize("name", MODULES)
def test_messages_docstrings_and_help_are_plain(name: str) -> None:
    said = strings((PACKAGE / name).read_text(encoding="utf-8"))
    assert [f"line {line}: {each}" for line, text in said for each in found_in(text)] == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_plain(name: str) -> None:
    assert found_in(prose(ROOT / name)) == []


@pytest.mark.parametrize(
    "text",
    ["It holds texts that are none.", "told was do(X=1)", "This is no JSON.", "Looks are\ndear.", "Looks at hand",
     "Shorter than 16 letters is refused.", "a policy that minds costs", "`among` is the text 'X'",
     "a file of its own"],
)  # fmt: skip
def test_the_dialect_is_found(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize(
    "text", ["There is no file.", "None if it is None", "It is no longer needed.", "``money`` is an array."]
)
def test_ordinary_english_is_not(text: str) -> None:
    assert found_in(text) == []


def test_an_f_string_is_one_text() -> None:
    assert strings('raise ValueError(f"{name} is " "no path.")') == [(1, "{} is no path.")]
