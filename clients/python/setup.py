"""Build step: generates affine_client._proto from proto/affine/v1/completion.proto."""

import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
CONTRACT = "affine/v1/completion.proto"
GENERATED = HERE / "src" / "affine_client" / "_proto"


def proto_root() -> Path:
    """The folder that holds CONTRACT: the checkout's proto/, or a source package's copy."""
    for root in (HERE / "proto", HERE.parent.parent / "proto"):
        if (root / CONTRACT).is_file():
            return root
    raise FileNotFoundError(
        f"{CONTRACT} is neither in {HERE / 'proto'} nor in {HERE.parent.parent / 'proto'}; "
        "build from a checkout of the whole repository"
    )


def generate() -> None:
    """Writes the modules flat into GENERATED; the descriptor keeps the contract's own name."""
    import grpc_tools
    from grpc_tools import protoc

    root = proto_root()
    with tempfile.TemporaryDirectory() as scratch:
        arguments = ["protoc", f"-I{root}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
        arguments += [f"--{kind}_out={scratch}" for kind in ("python", "pyi", "grpc_python")]
        if protoc.main([*arguments, CONTRACT]) != 0:
            raise RuntimeError(f"protoc failed on {root / CONTRACT}")
        GENERATED.mkdir(exist_ok=True)
        for made in (Path(scratch) / CONTRACT).parent.iterdir():
            code = made.read_text().replace(
                "from affine.v1 import", "from affine_client._proto import"
            )
            code = code.replace(
                "'affine.v1.completion_pb2'", "'affine_client._proto.completion_pb2'"
            )
            (GENERATED / made.name).write_text(code)
    (GENERATED / "__init__.py").write_text('"""Generated from proto/affine/v1; not in git."""\n')


class BuildWithStubs(build_py):
    """Generates before setuptools lists the package's modules, in editable installs too."""

    def finalize_options(self) -> None:
        generate()
        super().finalize_options()


class SourceWithContract(sdist):
    """Puts the contract into the source package, so that it builds outside a checkout."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        copy = Path(base_dir) / "proto" / CONTRACT
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(proto_root() / CONTRACT, copy)


setup(cmdclass={"build_py": BuildWithStubs, "sdist": SourceWithContract})
