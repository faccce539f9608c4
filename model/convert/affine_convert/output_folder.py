"""A folder that appears only when it is complete."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from affine_convert.errors import ConvertError


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """Gives a temporary sibling of `path` to write into, and renames it to `path` at the end.

    Whatever is raised inside, the sibling is removed and `path` stays absent.
    """
    if path.exists():
        raise ConvertError(f"{path} exists already. Remove it or name another output folder.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    try:
        yield partial
        os.chmod(partial, 0o755)  # mkdtemp lets the owner alone in
        partial.rename(path)
    except BaseException:
        shutil.rmtree(partial)
        raise


def copy_companions(source: Path, folder: Path) -> None:
    """Copies what describes a checkpoint, but neither its config.json nor its weights."""
    for path in sorted(source.iterdir()):
        described = (
            path.suffix in (".json", ".jinja", ".txt", ".md", ".model") or "LICENSE" in path.name
        )
        index = path.name.endswith(".safetensors.index.json")
        if path.is_file() and described and not index and path.name != "config.json":
            shutil.copyfile(path, folder / path.name)


def write_json(path: Path, value: object) -> None:
    """Writes indented UTF-8 JSON with a newline at the end."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict:
    """Reads a JSON object. Raises ConvertError for anything else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConvertError(f"{path} is missing. Name a checkpoint folder.") from error
    except (ValueError, RecursionError) as error:
        raise ConvertError(f"{path} is not valid JSON: {error}. Copy it again.") from error
    if not isinstance(value, dict):
        raise ConvertError(f"{path} holds no JSON object. Copy it again.")
    return value
