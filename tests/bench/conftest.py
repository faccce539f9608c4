from __future__ import annotations

from pathlib import Path

import pytest
from fake_servers import FakeServers


@pytest.fixture
def fakes(tmp_path: Path) -> FakeServers:
    return FakeServers(tmp_path)
