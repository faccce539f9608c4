"""What the tests need and do not make themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def built_or_made(variable: str, default: str, remedy: str) -> Path:
    """The path that the environment's `variable` names, else `default` below the checkout.

    A missing one fails the test with the remedy.
    """
    path = Path(os.environ.get(variable, ROOT / default))
    if not path.exists():
        pytest.fail(f"{path} is missing: {remedy}, or name another with {variable}", pytrace=False)
    return path
