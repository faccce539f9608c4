"""A server that cannot start says why on the last lines of stderr, with a documented exit code."""

from __future__ import annotations

import json
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from server_process import ServerProcess

USAGE, UNAVAILABLE, CONFIG = 2, 69, 78


class Refusal:
    """What a server that did not start left behind."""

    def __init__(self, code: int, stdout: list[str], stderr: list[str]) -> None:
        self.code = code
        self.stdout = stdout
        # The cause: what follows the log, whose lines are JSON.
        self.cause = "\n".join(line for line in stderr if not line.startswith("{"))
        self.last_line = stderr[-1] if stderr else ""


Refused = Callable[..., Refusal]


@pytest.fixture
def refused(binary: Path, tmp_path: Path) -> Refused:
    """Runs the server with flags that it must refuse."""

    def run(*flags: str) -> Refusal:
        server = ServerProcess(binary, flags, tmp_path / "refused.log")
        code = server.wait_exit()
        refusal = Refusal(code, server.stdout, server.stderr)
        assert refusal.last_line and not refusal.last_line.startswith("{"), server.tail()
        return refusal

    return run


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny checkpoint, to be damaged."""
    return Path(shutil.copytree(tiny_model, tmp_path / "damaged"))


def assert_config_refused(refusal: Refusal, *named: str) -> None:
    assert refusal.code == CONFIG, refusal.cause
    for part in named:
        assert part in refusal.cause, refusal.cause


def rewrite_header(file: Path, change: Callable[[dict], None]) -> None:
    """Changes the JSON header of a safetensors file and keeps its data."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


@pytest.mark.parametrize("keep", [0, 5, 8, 100, -1])
def test_truncated_safetensors(refused: Refused, copy: Path, keep: int) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    assert_config_refused(refused("--port=0", f"--model={copy}"), "model.safetensors")


def test_a_header_longer_than_the_file(refused: Refused, copy: Path) -> None:
    file = copy / "model.safetensors"
    content = file.read_bytes()
    for claimed in (len(content) + 1, 2**40, 2**63, 2**64 - 1):
        file.write_bytes(struct.pack("<Q", claimed) + content[8:])
        assert_config_refused(refused("--port=0", f"--model={copy}"), "model.safetensors")


def test_a_header_that_is_no_json(refused: Refused, copy: Path) -> None:
    file = copy / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[8:12] = b"\xff\x00{["
    file.write_bytes(content)
    assert_config_refused(refused("--port=0", f"--model={copy}"), "model.safetensors")


LIES = {
    "beyond the file": lambda entry: entry.update(data_offsets=[0, 2**50]),
    "backwards": lambda entry: entry.update(data_offsets=entry["data_offsets"][::-1]),
    "negative": lambda entry: entry.update(data_offsets=[-8, 0]),
    "shape and bytes differ": lambda entry: entry.update(shape=[1, *entry["shape"], 2]),
    "a shape that overflows": lambda entry: entry.update(shape=[2**62, 2**62]),
    "overlapping": lambda entry: entry.update(
        data_offsets=[end - 4 for end in entry["data_offsets"]]
    ),
    "an unknown type": lambda entry: entry.update(dtype="F128"),
    "no type": lambda entry: entry.pop("dtype"),
    "a wrong shape": lambda entry: entry.update(shape=[entry["shape"][0] * 2, -1]),
}


@pytest.mark.parametrize("lie", LIES)
def test_lying_safetensors(refused: Refused, copy: Path, lie: str) -> None:
    name = "model.layers.0.mlp.up_proj.weight"
    rewrite_header(copy / "model.safetensors", lambda header: LIES[lie](header[name]))
    refusal = refused("--port=0", f"--model={copy}")
    assert_config_refused(refusal, "model.safetensors")
    assert name in refusal.cause or "up_proj" in refusal.cause, refusal.cause


@pytest.mark.parametrize(
    "name",
    [
        "model.embed_tokens.weight",
        "model.layers.1.self_attn.alpha_ma",
        "model.layers.0.self_attn.sinks",
        "model.layers.1.mlp.down_proj.weight",
    ],
)
def test_a_missing_tensor_is_named(refused: Refused, copy: Path, name: str) -> None:
    def rename(header: dict) -> None:
        header[name + ".elsewhere"] = header.pop(name)

    rewrite_header(copy / "model.safetensors", rename)
    refusal = refused("--port=0", f"--model={copy}")
    assert_config_refused(refusal, name, name + ".elsewhere")


def test_every_problem_is_in_one_error(refused: Refused, copy: Path) -> None:
    gone = ["model.norm.weight", "model.layers.0.input_layernorm.weight"]

    def rename(header: dict) -> None:
        for name in gone:
            header["x." + name] = header.pop(name)

    rewrite_header(copy / "model.safetensors", rename)
    assert_config_refused(refused("--port=0", f"--model={copy}"), *gone)


def test_configurations_that_make_no_sense(refused: Refused, copy: Path) -> None:
    file = copy / "config.json"
    sound = json.loads(file.read_text())
    for key, value in (
        ("architectures", ["MambaForCausalLM"]),
        ("num_hidden_layers", -1),
        ("hidden_size", 2**40),
        ("attention", {"denominator": "cubic", "affine": None, "gate": "none"}),
        ("num_attention_heads", "four"),
    ):
        file.write_text(json.dumps({**sound, key: value}))
        assert_config_refused(refused("--port=0", f"--model={copy}"), "config.json", key)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00" * 100, "[" * 100_000])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_broken_json_files(refused: Refused, copy: Path, name: str, content: str) -> None:
    (copy / name).write_text(content)
    assert_config_refused(refused("--port=0", f"--model={copy}"), name)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_missing_files(refused: Refused, copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert_config_refused(refused("--port=0", f"--model={copy}"), name)


def test_a_missing_folder(refused: Refused, tmp_path: Path) -> None:
    folder = tmp_path / "no-such-model"
    assert_config_refused(refused("--port=0", f"--model={folder}"), str(folder))


def test_a_cache_too_small_for_one_sequence(refused: Refused, tiny_model: Path) -> None:
    refusal = refused("--port=0", f"--model={tiny_model}", "--kv_cache_gib=0.0001")
    assert_config_refused(refusal, "kv_cache_gib")


def test_a_device_that_is_not_there(refused: Refused, tiny_model: Path) -> None:
    refusal = refused("--port=0", f"--model={tiny_model}", "--device=cuda")
    assert refusal.code == UNAVAILABLE, refusal.cause
    assert "cuda" in refusal.cause


def test_integer_weights_for_float32(refused: Refused, tiny_model: Path) -> None:
    refusal = refused("--port=0", f"--model={tiny_model}", "--dtype=float32", "--weights=int8")
    assert refusal.code == CONFIG, refusal.cause
    assert "--weights=int8" in refusal.cause and "--dtype=float32" in refusal.cause


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--max_num_seq=4"], ["max_num_seq", "max_num_seqs"]),
        (["--no-such-flag"], ["no-such-flag"]),
        (["--port=http"], ["port", "http"]),
        (["--port=65536"], ["port", "65536", "65535"]),
        (["--dtype=int3"], ["dtype", "int3", "bfloat16"]),
        (["--weights=int3"], ["weights", "int3", "int8", "int4"]),
        (["--block_size=17"], ["block_size", "17"]),
    ],
)
def test_wrong_flags(
    refused: Refused, tiny_model: Path, flags: list[str], named: list[str]
) -> None:
    refusal = refused(f"--model={tiny_model}", *flags)
    assert refusal.code == USAGE, refusal.cause
    for part in named:
        assert part in refusal.last_line, refusal.last_line


def test_no_model(refused: Refused) -> None:
    refusal = refused("--port=0")
    assert refusal.code == USAGE
    assert "model" in refusal.last_line


def test_a_busy_port(refused: Refused, tiny_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        refusal = refused(f"--port={port}", f"--model={tiny_model}")
    assert refusal.code == UNAVAILABLE, refusal.cause
    assert str(port) in refusal.last_line


def test_a_host_that_is_not_here(refused: Refused, tiny_model: Path) -> None:
    refusal = refused("--port=0", f"--model={tiny_model}", "--host=192.0.2.1")
    assert refusal.code == UNAVAILABLE, refusal.cause
    assert "192.0.2.1" in refusal.cause
