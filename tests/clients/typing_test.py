"""The package says that it is typed; a strict type checker agrees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
