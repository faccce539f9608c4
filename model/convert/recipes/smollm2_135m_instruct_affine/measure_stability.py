"""Reads a served model's attention stability on held-out texts from its /metrics.

usage: measure_stability.py FOLDER --url http://127.0.0.1:8000 [--windows N]

Prints a Markdown table by layer, means over all windows. The server must be started so that each of
a window's 64 steps is one slice of 8 tokens whose last is measured:
  affine_server --stability_sample_every=1 --max_num_seqs=1 --max_num_batched_tokens=8 MODEL
"""

import argparse
import json
import re
import sys
import urllib.request
from collections import defaultdict
from pathlib import Path

#: Tokens of a window: 64 steps of 8, which is what the gauges look back on.
_WINDOW = 512
_SERIES = {
    "entropy_nats": "softmax entropy, nats",
    "first_token_mass": "first-token mass",
    "total_weight": "weight sum",
    "negative_mass": "negative mass",
    "alpha_mean": "α mean",
    "alpha_at_zero_ratio": "α at 0",
    "alpha_at_one_ratio": "α at 1",
    "alpha_drift": "α drift",
}
_LINE = re.compile(r'^affine_attention_(\w+)\{[^}]*layer="(\d+)"[^}]*\} (\S+)$', re.M)


def call(url: str, path: str, body: dict | None = None) -> bytes:
    """The answer to a GET, or to a POST of `body`."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return response.read()


def windows(url: str, model: str, text: str, count: int) -> list[list[int]]:
    """Up to `count` windows of token ids."""
    ids = json.loads(call(url, "/tokenize", {"model": model, "prompt": text}))["tokens"]
    whole = range(0, len(ids) - _WINDOW + 1, _WINDOW)
    return [ids[start : start + _WINDOW] for start in whole][:count]


def measure(url: str, model: str, ids: list[int], salt: str) -> dict[str, dict[int, float]]:
    """Each series by layer, over the window; `salt` keeps the prefix cache out of it."""
    body = {"model": model, "prompt": ids, "max_tokens": 1, "temperature": 0, "cache_salt": salt}
    call(url, "/v1/completions", body)
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for name, layer, value in _LINE.findall(call(url, "/metrics").decode()):
        found[name][int(layer)] = float(value)
    return found


def table(means: dict[str, dict[int, float]]) -> str:
    """Markdown: a row a layer, then the mean over layers."""
    names = [name for name in _SERIES if name in means]
    lines = ["| layer | " + " | ".join(_SERIES[name] for name in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    layers = sorted(means[names[0]])
    for layer in layers:
        lines.append(f"| {layer} | " + " | ".join(f"{means[n][layer]:.3f}" for n in names) + " |")
    whole = (sum(means[name].values()) / len(layers) for name in names)
    lines.append("| all | " + " | ".join(f"{value:.3f}" for value in whole) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measures all *.txt files of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder whose *.txt files are read")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the server")
    parser.add_argument("--windows", type=int, default=4, help="of each file, at most")
    parsed = parser.parse_args(arguments)
    model = json.loads(call(parsed.url, "/v1/models"))["data"][0]["id"]
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    count = 0
    for path in sorted(parsed.folder.glob("*.txt")):
        for ids in windows(parsed.url, model, path.read_text(encoding="utf-8"), parsed.windows):
            count += 1
            print(f"\r{count} windows", end="", file=sys.stderr)
            for name, layers in measure(parsed.url, model, ids, f"window-{count}").items():
                for layer, value in layers.items():
                    sums[name][layer] += value
    print(file=sys.stderr)
    means = {n: {layer: v / count for layer, v in layers.items()} for n, layers in sums.items()}
    print(f"{model}, {count} windows of {_WINDOW} tokens\n\n{table(means)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
