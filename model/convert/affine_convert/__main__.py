"""The command line: python -m affine_convert SUBCOMMAND."""

import argparse
import sys

from affine_convert import affinize, finetune, from_gguf, inspect_folder, merge, verify
from affine_convert.errors import ConvertError

_COMMANDS = {
    "from-gguf": from_gguf,
    "affinize": affinize,
    "finetune": finetune,
    "merge": merge,
    "verify": verify,
    "inspect": inspect_folder,
}

_EPILOG = """exit codes: 0 done, 1 cannot be done (the reason is the last line on stderr),
2 wrong usage, 130 interrupted. An output appears only when it is complete."""


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands; each sets `run`, which takes the parsed arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m affine_convert",
        description="Makes checkpoints that Affine Serve loads, from public ones.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=_EPILOG,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs one subcommand and returns the exit code."""
    parsed = build_parser().parse_args(arguments)
    try:
        parsed.run(parsed)
    except (ConvertError, OSError) as error:
        print(f"affine_convert: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("affine_convert: interrupted; no output was left half made", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
