"""cases.json is what Python's Jinja makes of jinja_cases.py; the C++ test holds the interpreter against it."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import make_cases

FOLDER = Path(__file__).parent


def test_the_expected_texts_are_what_jinja_gives() -> None:
    made = io.StringIO()
    with redirect_stdout(made):
        make_cases.main()
    kept = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
    assert json.loads(made.getvalue()) == kept, "run make_cases.py > cases.json"
