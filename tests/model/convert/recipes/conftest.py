"""Makes the scripts of the recipes importable."""

import sys
from pathlib import Path

_RECIPES = Path(__file__).resolve().parents[4] / "model" / "convert" / "recipes"
sys.path.insert(0, str(_RECIPES / "smollm2_135m_instruct_affine"))
