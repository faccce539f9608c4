"""Texts by kind."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from affine_convert.errors import ConvertError
from affine_convert.training.text_files import load_tokenizer, read_tokens


@dataclass(frozen=True)
class Texts:
    """Files of one purpose, by kind: the file's name without its ending."""

    tokens: dict[str, np.ndarray]
    sha256: dict[str, str]

    @classmethod
    def read(cls, folder: Path, files: list[Path]) -> "Texts":
        """Reads `files` with the tokenizer of the checkpoint in `folder`."""
        tokenizer = load_tokenizer(folder)
        doubles = {path.stem for path in files if [f.stem for f in files].count(path.stem) > 1}
        if doubles:
            raise ConvertError(
                f"Several texts are of kind {', '.join(sorted(doubles))}. A file's name without "
                "its ending is its kind; rename one."
            )
        tokens = {path.stem: read_tokens(tokenizer, path) for path in files}
        digests = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        return cls(tokens, digests)
