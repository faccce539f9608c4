"""serve.sh: what it makes, and what it hands to the server.

It runs whole, with stand-ins for what installs, builds, converts and serves. The stand-in for the server
writes down its arguments and variables; the one for Python, of which folders were to be made.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SERVE = REPO / "deploy" / "serve.sh"
SERVER = Path(os.environ.get("AFFINE_SERVER_BINARY", REPO / "build/server/app/affine_server"))
PLAIN = "smollm2-135m-instruct"
DEFAULT = f"{PLAIN}-affine"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Serve:
    """A machine on which everything is installed and built but no model made."""

    def __init__(self, folder):
        self.folder = folder
        program(folder / "bin/dpkg-query", "echo install ok installed")
        program(folder / "bin/ninja", "echo ninja: no work to do.")
        program(folder / "venv/bin/pip", "exit 0")
        # python -m affine_convert COMMAND SRC [ADAPTER] OUT
        program(
            folder / "venv/bin/python",
            f'for out; do :; done; echo "$3 $out" >>{folder}/made; mkdir -p "${{out%/*}}" && mkdir "$out" && touch "$out/config.json"',
        )
        program(
            folder / "build/server/app/affine_server",
            f'env >{folder}/variables; printf "%s\\n" "$@" >{folder}/arguments',
        )
        (folder / "build/build.ninja").touch()
        (folder / "torch/lib").mkdir(parents=True)
        (folder / "torch/lib/libtorch_cpu.so").touch()

    def run(self, *arguments, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AFFINE_")}
        places = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "LIBTORCH": str(self.folder / "torch"),
            "AFFINE_VENV": str(self.folder / "venv"),
            "AFFINE_BUILD": str(self.folder / "build"),
            "AFFINE_MODELS": str(self.folder / "models"),
        }
        done = subprocess.run(
            [SERVE, *arguments], env={**clean, **places, **variables}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return self

    @property
    def made(self):
        """Names of the models that were made, by the subcommand that made them."""
        path = self.folder / "made"
        lines = path.read_text().splitlines() if path.exists() else []
        return {line.split()[0]: Path(line.split()[1]).name.removesuffix(".new") for line in lines}

    @property
    def models(self):
        """What lies in the models' folder."""
        return {path.name for path in (self.folder / "models").iterdir()}

    @property
    def arguments(self):
        """What the server was called with."""
        text = (self.folder / "arguments").read_text().removesuffix("\n")
        return text.split("\n") if text else []

    @property
    def variables(self):
        """The server's AFFINE_ variables."""
        lines = (self.folder / "variables").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line.startswith("AFFINE_"))


@pytest.fixture
def serve(tmp_path):
    return Serve(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--port", "8001"],
        ["--port=8001"],
        ["-port", "8001"],
        ["--max-model-len", "-1"],
        ["--enable-prefix-caching", "--port", "8001"],
        ["--no-vllm-metrics"],
        ["--"],
    ],
    ids=" ".join,
)
def test_the_default_model_is_made_and_served_where_none_is_named(serve, arguments):
    serve.run(*arguments)
    assert serve.made == {"from-gguf": PLAIN, "merge": DEFAULT}
    assert serve.arguments == arguments
    assert serve.variables == {"AFFINE_MODEL": str(serve.folder / "models" / DEFAULT)}


@pytest.mark.parametrize(
    "arguments",
    [
        ["folder"],
        ["folder", "--port", "8001"],
        ["--port", "8001", "folder"],
        ["--port=8001", "folder"],
        ["--enable_prefix_caching", "folder"],
        ["--noenable_prefix_caching", "folder"],
        ["--no-enable-prefix-caching", "folder"],
        ["--no_vllm_metrics", "folder"],
        ["--", "--odd-folder"],
        ["--model", "folder"],
        ["--port", "8001", "--model=name=folder"],
        ["-model=folder"],
    ],
    ids=" ".join,
)
def test_a_named_model_is_served_alone(serve, arguments):
    serve.run(*arguments)
    assert (serve.made, serve.arguments, serve.variables) == ({}, arguments, {})


@pytest.mark.parametrize("flag", ["-h", "--h", "--help", "-help", "--help=markdown", "--version"])
def test_help_and_version_make_no_model(serve, flag):
    serve.run("--port", "8001", flag)
    assert (serve.made, serve.arguments, serve.variables) == ({}, ["--port", "8001", flag], {})


def test_a_model_named_by_the_environment_is_served_alone(serve):
    serve.run("--port=8001", AFFINE_MODEL="folder")
    assert (serve.made, serve.variables) == ({}, {"AFFINE_MODEL": "folder"})


def test_models_that_were_made_are_not_made_again(serve):
    serve.run()
    (serve.folder / "made").unlink()
    assert serve.run().made == {}


def test_a_default_model_of_no_adapter_or_another_is_replaced(serve):
    """An older set-up left a folder without a stamp; a newer adapter makes an old stamp wrong."""
    serve.run()
    stamp = serve.folder / "models" / f".made-{DEFAULT}"
    old = serve.folder / "models" / DEFAULT / "old"
    for spoil in (stamp.unlink, lambda: stamp.write_text("another")):
        spoil()
        old.touch()
        (serve.folder / "made").unlink()
        assert serve.run().made == {"merge": DEFAULT}
        assert not old.exists()
        assert serve.models == {PLAIN, DEFAULT, stamp.name}


def test_what_a_broken_off_set_up_left_is_made_anew(serve):
    (serve.folder / "models" / f"{DEFAULT}.new").mkdir(parents=True)
    serve.run()
    assert serve.models == {PLAIN, DEFAULT, f".made-{DEFAULT}"}


def test_the_servers_own_variables_reach_it(serve):
    serve.run("folder", AFFINE_PORT="8001", AFFINE_API_KEY="secret")
    assert serve.variables == {"AFFINE_PORT": "8001", "AFFINE_API_KEY": "secret"}


def test_booleans_are_those_of_the_server():
    page = subprocess.run([SERVER, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    (listed,) = re.findall(r"^booleans=\((.*)\)$", SERVE.read_text(), re.M)
    assert sorted(listed.split()) == sorted(re.findall(r"^  --\[no\](\w+)$", page, re.M))
