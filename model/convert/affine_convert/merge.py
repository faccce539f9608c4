"""merge: a base checkpoint and an adapter as one checkpoint that the server loads."""

import argparse
from pathlib import Path

import numpy as np

from affine_convert.adapter import Adapter, read_adapter
from affine_convert.affinize import affine_config, plan_weights
from affine_convert.errors import ConvertError
from affine_convert.fingerprint import base_sha256
from affine_convert.floats import decode, encode
from affine_convert.output_folder import copy_companions, output_folder, read_json, write_json
from affine_convert.safetensors_reader import StoredTensor, read_folder
from affine_convert.safetensors_writer import PlannedTensor, write_safetensors

SUMMARY = "join a checkpoint and an adapter of finetune to a checkpoint that can be served"
DESCRIPTION = (
    "Writes a checkpoint folder: BASE_DIR with doubled output projections where it is plain, "
    "the adapter's tensors in the types that affinize gives them, and config.json's attention key. "
    "BASE_DIR is the checkpoint that the adapter was trained on, or its affine twin."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what merge takes."""
    parser.add_argument("base", metavar="BASE_DIR", type=Path, help="checkpoint folder to read")
    parser.add_argument("adapter", metavar="ADAPTER", type=Path, help="file that finetune wrote")
    parser.add_argument("out", metavar="OUT_DIR", type=Path, help="folder to make; must not exist")


def _stored_plan(tensors: dict[str, StoredTensor]) -> list[PlannedTensor]:
    return [PlannedTensor(name, t.dtype, t.shape, t.load) for name, t in tensors.items()]


def _attention_problems(config: dict, adapter: Adapter) -> list[str]:
    """Where the base's attention is another than the adapter's."""
    base, wanted = config.get("attention") or {}, adapter.attention
    found = []
    for part, absent in (("denominator", "softmax"), ("gate", "none")):
        has = base.get(part, absent)
        if has != wanted.get(part):
            found.append(f"{part} is {has!r}, the adapter's {wanted.get(part)!r}")
    if base.get("affine") and base["affine"] != wanted.get("affine"):
        found.append(f"affine is {base['affine']}, the adapter's {wanted.get('affine')}")
    return found


def _tensor_problems(planned: dict[str, PlannedTensor], adapter: Adapter) -> list[str]:
    """Which of the adapter's tensors have no place, or no fitting one."""
    found = []
    for name, values in adapter.tensors.items():
        if name not in planned:
            found.append(f"{name} has no place in the base")
            continue
        shape = planned[name].shape
        if values.shape != shape and not (shape == (1,) and name.endswith(".alpha_ma")):
            found.append(f"{name} is {list(values.shape)}, the base's {list(shape)}")
        elif not np.isfinite(values).all():
            found.append(f"{name} holds NaN or infinity")
        elif not np.isfinite(
            decode(encode(values, planned[name].dtype), planned[name].dtype)
        ).all():
            found.append(f"{name} holds values that {planned[name].dtype} cannot")
    needed = [name for name in planned if name.endswith((".alpha_proj.weight", ".alpha_ma"))]
    found += [f"the adapter lacks {name}" for name in needed if name not in adapter.tensors]
    return found


def _replaced(plan: PlannedTensor, values: np.ndarray) -> PlannedTensor:
    return PlannedTensor(plan.name, plan.dtype, values.shape, lambda: encode(values, plan.dtype))


def plan_merged(
    config: dict, tensors: dict[str, StoredTensor], adapter: Adapter
) -> list[PlannedTensor]:
    """All tensors of the merged checkpoint. One ConvertError names all that is wrong."""
    affine = bool((config.get("attention") or {}).get("affine"))
    plans = _stored_plan(tensors) if affine else plan_weights(config, tensors)
    planned = {plan.name: plan for plan in plans}
    problems = _attention_problems(config, adapter) + _tensor_problems(planned, adapter)
    found = base_sha256(tensors, affine)
    if found != adapter.base_sha256:
        problems.append(
            f"its weights have sha256 {found}, the adapter's base {adapter.base_sha256}"
        )
    if problems:
        raise ConvertError(
            f"The adapter belongs to another base, {adapter.base_model}: {'; '.join(problems)}. "
            "Name the base that it was trained on."
        )
    planned |= {name: _replaced(planned[name], v) for name, v in adapter.tensors.items()}
    return list(planned.values())


def merge(base: Path, adapter_path: Path, out: Path) -> None:
    """Writes folder `out`. Raises ConvertError where base and adapter don't belong together."""
    adapter = read_adapter(adapter_path)
    config = read_json(base / "config.json")
    weights = plan_merged(config, read_folder(base), adapter)
    affine = adapter.attention["affine"]
    if not (config.get("attention") or {}).get("affine"):
        config = affine_config(config, affine["alpha_activation"], affine["normalizer"])
    with output_folder(out) as folder:
        write_json(folder / "config.json", config)
        copy_companions(base, folder)
        write_safetensors(folder / "model.safetensors", weights, f"{out.name}: weights")


def run(arguments: argparse.Namespace) -> None:
    """Runs the subcommand."""
    merge(arguments.base, arguments.adapter, arguments.out)
    print(f"wrote {arguments.out}")
