"""The package says that it is typed; a strict type checker agrees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from readme_test import snippets

PACKAGE = Path(__file__).resolve().parents[2] / "clients" / "python"


def test_the_package_passes_strict_type_checking(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path}"],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_are_checked_against_the_package(tmp_path: Path) -> None:
    """Those of the README pass a strict checker; a wrong name, value or use of an answer does not."""
    for number, code in enumerate(snippets("python")):
        (tmp_path / f"readme_{number}.py").write_text(code)
    (tmp_path / "wrong.py").write_text(
        "from affine_client import Client\n"
        "with Client() as client:\n"
        "    client.complete('x', temprature=0)\n"
        "    client.complete('x', max_tokens='9')\n"
        "    client.complete('x').txt\n"
        "    for chunk in client.stream('x', stop=['a'], seed=None):\n"
        "        chunk.text + 1\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path / 'cache'}", "."],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(PACKAGE / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = [line.split(": error")[0] for line in done.stdout.splitlines() if ": error" in line]
    assert found == [f"wrong.py:{line}" for line in (3, 4, 5, 7)], done.stdout
