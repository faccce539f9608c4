"""Checks files before the work whose results go there."""

from __future__ import annotations

import os
from pathlib import Path

from affine_client.errors import AffineError


def check_folder(file: Path | None) -> None:
    """Raises AffineError, before any request, when `file` could not be written."""
    if file and file.is_dir():
        raise AffineError(f"{file} is a folder; name a file in it")
    if file and not file.parent.is_dir():
        raise AffineError(f"{file}: there is no folder {file.parent}; make it first")
    if file and not os.access(file if file.exists() else file.parent, os.W_OK):
        raise AffineError(f"{file} cannot be written; name a file elsewhere")
