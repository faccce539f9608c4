#!/usr/bin/env python3
"""Checks the arrows between rooms and the wall between LibTorch and protobuf.

usage: rooms.py [BUILD_FOLDER]

Arrows: who may include whom, from the #include lines of model/, server/ and clients/. Wall: from the
dependencies that ninja recorded in BUILD_FOLDER, no object file has seen both LibTorch's and protobuf's
headers. Prints each offence and exits with 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#include\s+[<"]([^>"]+)[>"]', re.M)

TORCH = ("ATen/", "c10/", "torch/")
PROTOBUF = ("google/protobuf/", "grpc/", "grpcpp/", "affine/v1/", "inference/", "vllm/grpc/")
EDGE = ("boost/",)
PROMETHEUS = ("prometheus/", "spdlog/")
ABSEIL = ("absl/",)
XGRAMMAR = ("xgrammar/", "dlpack/")
PUBLIC_MODEL = re.compile(r"model/[a-z0-9_]+\.h$")

# Room: rooms of this project it may include beside itself ("model" stands for model/*.h alone).
# Ordered from the most particular folder.
ROOMS = {
    "model/runtime": set(),
    "model/checkpoint": {"model"},
    "model/tokenizer": {"model"},
    "model/jinja": {"model"},
    "model/chat": {"model", "model/jinja", "model/checkpoint"},
    "model/sampling": {"model", "model/runtime"},
    "model/layers": {"model", "model/runtime", "model/checkpoint"},
    "model/cache": {"model", "model/runtime"},
    "model/attention": {"model", "model/runtime", "model/checkpoint", "model/layers", "model/cache"},
    "model/transformer": {"model", "model/runtime", "model/checkpoint", "model/layers", "model/cache",
                          "model/attention", "model/sampling"},
    "model": set(),
    "server/request": {"model"},
    "server/admission": {"model", "server/request"},
    "server/scheduler": {"model", "server/request"},
    "server/engine": {"model", "server/request", "server/admission", "server/scheduler"},
    "server/grammar/xgrammar": {"model", "server/request", "server/grammar"},
    "server/grammar": {"model", "server/request"},
    "server/telemetry": {"model", "server/request", "server/engine", "server/api"},
    "server/api": {"model", "server/request", "affine/v1"},
    "server/app": {"model", "server/request", "server/admission", "server/scheduler", "server/engine",
                   "server/grammar", "server/grammar/xgrammar", "server/telemetry", "server/api"},
    "clients": {"affine/v1"},
}
# Libraries from outside: which rooms may see them.
OUTSIDE = {
    TORCH: {"model/layers", "model/cache", "model/attention", "model/transformer"},
    PROTOBUF: {"server/api", "clients"},
    EDGE: {"server/api", "server/app"},
    PROMETHEUS: {"server/telemetry", "server/app"},
    XGRAMMAR: {"server/grammar/xgrammar"},
    ABSEIL: {"server/request", "server/admission", "server/scheduler", "server/engine", "server/telemetry",
             "server/api", "server/app", "clients"},
}


def room_of(path):
    for room in ROOMS:
        if path.startswith(room + "/"):
            return room
    return None


def offence(room, included):
    for prefixes, allowed in OUTSIDE.items():
        if included.startswith(prefixes) and room not in allowed:
            return f"{room} may not see {included.split('/')[0]}"
    target = room_of(included)
    if target is None or target == room:
        return None
    if target == "model" and not PUBLIC_MODEL.match(included):
        return f"{included} is no public header of model/"
    if target in ROOMS[room] or included in ROOMS[room]:
        return None
    return f"no arrow leads from {room} to {target}"


def arrows():
    for top in ("model", "server", "clients", "proto"):
        for path in sorted((REPO / top).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu"):
                continue
            name = path.relative_to(REPO).as_posix()
            room = room_of(name)
            if room is None:
                yield f"{name}: in no known room; name it in tests/rooms.py"
                continue
            for included in INCLUDE.findall(path.read_text()):
                problem = offence(room, included)
                if problem:
                    yield f"{name}: #include \"{included}\": {problem}"


def wall(build):
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    objects = 0
    for block in deps.split("\n\n"):
        name, _, rest = block.strip().partition(":")
        objects += bool(name)
        if "/ATen/" in rest and "google/protobuf/" in rest:
            yield f"{name}: sees LibTorch's and protobuf's headers"
    if objects < 50:
        yield f"{build} holds the dependencies of {objects} objects only; build it first"


def main():
    problems = list(arrows())
    if len(sys.argv) > 1:
        problems += wall(sys.argv[1])
    print("\n".join(problems) or "rooms: every arrow points as it should")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
