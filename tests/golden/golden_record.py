"""The stored golden records, data/CASE.json: one line per field, float32 numbers as decimals."""

import json
import pathlib

DATA = pathlib.Path(__file__).parent / "data"


def read_record(case):
    """The stored record of `case`; FileNotFoundError with the remedy when there is none."""
    path = DATA / f"{case.name}.json"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; run tests/golden/make_golden.py {case.name}")
    return json.loads(path.read_text())


def write_record(record, path):
    """Writes dict `record` to `path`, which can then be read by people and by git."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
