"""Each half of the project configures on a machine that lacks the other half's libraries."""

import subprocess
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
OF_THE_SERVER = ["gRPC", "Protobuf", "absl", "Boost", "prometheus-cpp", "spdlog"]


def configure(folder, *options, lacking):
    """Configures with tests as if the packages `lacking` were not installed; {name: value} of the cache."""
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in lacking]
    command = ["cmake", "-G", "Ninja", "-S", REPO, "-B", folder, "-DAFFINE_TESTS=ON", *options, *absent]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = (folder / "CMakeCache.txt").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith(("#", "//")))


def programs(folder):
    """Names of the programs that are built."""
    listed = subprocess.run(
        ["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    rules = (line.split(": ") for line in listed.splitlines())
    return {Path(name).name for name, rule in rules if rule.startswith("CXX_EXECUTABLE") and "[" not in name}


def test_the_model_and_its_tests_need_nothing_of_the_server(tmp_path):
    cache = configure(tmp_path, "-DAFFINE_SERVER=OFF", lacking=[*OF_THE_SERVER, "benchmark"])
    assert not [name for name in cache if name.startswith("PROMTOOL")]
    assert {"transformer_test", "tokenizer_test", "checkpoint_test", "affine_score"} <= programs(tmp_path)
    assert not {"affine_server", "app_test", "model_step_bench"} & programs(tmp_path)


def test_the_server_and_its_tests_need_no_libtorch(tmp_path):
    configure(tmp_path, "-DAFFINE_MODEL=OFF", lacking=["LibTorch", "benchmark"])
    assert {"app_test", "engine_tests", "tokenizer_test", "checkpoint_test"} <= programs(tmp_path)
    assert not {"affine_server", "transformer_test", "affine_score"} & programs(tmp_path)


def test_sanitizers_run_the_parsers_of_untrusted_files(tmp_path):
    configure(tmp_path, "-DAFFINE_MODEL=OFF", "-DAFFINE_SERVER=OFF", lacking=["LibTorch", *OF_THE_SERVER])
    steps = subprocess.run(
        ["ninja", "-C", tmp_path, "-n", "core_tests"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "executable tests/model/tokenizer/tokenizer_test" in steps
    assert "executable tests/model/checkpoint/checkpoint_test" in steps
