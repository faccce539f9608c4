"""Writes and reads safetensors files with numpy alone.

Format: 8 bytes little-endian header length, a JSON header padded with spaces, then the tensors'
bytes. Each tensor's `data_offsets` count from the end of the header.
"""

import json
import pathlib


def write_shards(folder, tensors, shards):
    """Writes float32 `tensors` into `folder`: one file, or `shards` files and an index."""
    folder = pathlib.Path(folder)
    if shards == 1:
        _write(folder / "model.safetensors", tensors)
        return
    weight_map = {}
    names = list(tensors)
    for shard in range(shards):
        file_name = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        mine = names[shard::shards]
        _write(folder / file_name, {name: tensors[name] for name in mine})
        weight_map |= dict.fromkeys(mine, file_name)
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def _write(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())


def read_checkpoint(folder):
    """Yields (name, dtype, shape, bytes) of every tensor of a folder's files, sorted by name."""
    entries = []
    for path in pathlib.Path(folder).glob("*.safetensors"):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        entries += [(name, path, 8 + length, fields) for name, fields in header.items()]
    if not entries:
        raise FileNotFoundError(f"no *.safetensors in {folder}; make the checkpoint first")
    for name, path, data_start, fields in sorted(entries, key=lambda entry: entry[0]):
        begin, end = fields["data_offsets"]
        with path.open("rb") as file:
            file.seek(data_start + begin)
            yield name, fields["dtype"], fields["shape"], file.read(end - begin)
