"""`python tests/bench/serving`; the folder above is put where `serving` is found."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from serving.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
