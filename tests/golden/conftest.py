"""pytest's options for the golden tests, and the tiny checkpoints they share."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


class TinyCheckpoints:
    """Folders of the golden cases' checkpoints, each written when first asked for."""

    def __init__(self, root):
        self._root = root

    def folder(self, case):
        import tiny_checkpoint

        path = self._root / case.name
        if not path.exists():
            tiny_checkpoint.write(case, path)
        return path


@pytest.fixture(scope="session")
def tiny_checkpoints(tmp_path_factory):
    return TinyCheckpoints(tmp_path_factory.mktemp("tiny"))
