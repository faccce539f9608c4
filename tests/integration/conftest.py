"""Servers and models that the integration tests share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from grpc_api import GrpcApi
from http_api import HttpApi
from prerequisites import ROOT, built_or_made
from server_process import ServerProcess
from servers import Servers

sys.path.insert(0, str(ROOT / "tests" / "golden"))  # for its tiny checkpoints

# Every part of the attention family at once.
TINY_CASE = "llama-learned_sink-affine-elementwise"
TINY_MAX_MODEL_LEN = 32768


@pytest.fixture(scope="session")
def binary() -> Path:
    return built_or_made(
        "AFFINE_SERVER_BINARY", "build/server/app/affine_server", "build the target affine_server"
    )


@pytest.fixture(scope="session")
def real_model() -> Path:
    return built_or_made(
        "AFFINE_TEST_MODEL",
        "models/smollm2-135m-instruct-affine",
        "make the default model with deploy/serve.sh",
    )


@pytest.fixture(scope="session")
def plain_model() -> Path:
    return built_or_made(
        "AFFINE_TEST_PLAIN_MODEL",
        "models/smollm2-135m-instruct",
        "make the default model with deploy/serve.sh",
    )


@pytest.fixture(scope="session")
def identity_model() -> Path:
    return built_or_made(
        "AFFINE_TEST_IDENTITY_MODEL",
        "models/smollm2-135m-instruct-identity",
        "make it with tests/run.sh",
    )


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random checkpoint with a long context; it repeats nothing and never says anything."""
    import tiny_checkpoint
    from cases import case_named

    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny_checkpoint.write(case_named(TINY_CASE), folder)
    config = json.loads((folder / "config.json").read_text())
    config["max_position_embeddings"] = TINY_MAX_MODEL_LEN
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def servers(binary: Path, tmp_path: Path) -> Iterator[Servers]:
    """For tests that need a server of their own."""
    servers = Servers(binary, tmp_path)
    yield servers
    servers.finish()


@pytest.fixture(scope="module")
def module_servers(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(binary, tmp_path_factory.mktemp("servers"))
    yield servers
    servers.finish()


@pytest.fixture(scope="module")
def tiny_server(module_servers: Servers, tiny_model: Path) -> ServerProcess:
    return module_servers.start(tiny_model, "--served_model_name=tiny", "--kv_cache_gib=0.25")


@pytest.fixture(scope="module")
def tiny_grpc(tiny_server: ServerProcess) -> Iterator[GrpcApi]:
    with GrpcApi(tiny_server.address) as api:
        yield api


@pytest.fixture(scope="module")
def tiny_http(tiny_server: ServerProcess) -> HttpApi:
    return HttpApi(tiny_server.address)


@pytest.fixture(scope="module")
def real_server(module_servers: Servers, real_model: Path) -> ServerProcess:
    return module_servers.start(real_model, "--served_model_name=real")


@pytest.fixture(scope="module")
def real_grpc(real_server: ServerProcess) -> Iterator[GrpcApi]:
    with GrpcApi(real_server.address) as api:
        yield api


@pytest.fixture(scope="module")
def real_http(real_server: ServerProcess) -> HttpApi:
    return HttpApi(real_server.address)
