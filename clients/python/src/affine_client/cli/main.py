"""Entry point of `affine`: chooses the command, and turns failures into one line and a code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from affine_client import __version__
from affine_client.address import DEFAULT_ADDRESS, server_address
from affine_client.cli import attention, bench, complete, info, metrics, report, tokenize, top
from affine_client.cli.terminal import Terminal
from affine_client.errors import AffineError, Unauthenticated, Unavailable, Unsupported

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 69  # EX_UNAVAILABLE of sysexits.h
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE

_COMMANDS = (complete, info, tokenize, metrics, top, attention, report, bench)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="affine",
        description="Talks to an Affine Serve server.",
        epilog=(
            "exit codes: 0 done, 1 failure, 2 usage, 69 nothing usable at the address\n"
            "environment: AFFINE_ADDRESS, AFFINE_API_KEY, NO_COLOR"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"affine {__version__}")
    connection = argparse.ArgumentParser(add_help=False)
    connection.add_argument(
        "--address",
        "--server",
        metavar="HOST:PORT",
        help=f"the server (default: AFFINE_ADDRESS, else {DEFAULT_ADDRESS})",
    )
    connection.add_argument(
        "--api-key",
        default=os.environ.get("AFFINE_API_KEY"),
        metavar="KEY",
        help="for servers started with one; better by AFFINE_API_KEY, which others cannot see",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands, connection)
    return parser


def main(argv: Sequence[str] | None = None, terminal: Terminal | None = None) -> int:
    """Runs one command; returns the exit code. argparse itself exits with 2 on bad usage."""
    terminal = terminal or Terminal()
    arguments = build_parser().parse_args(argv)
    try:
        arguments.address = server_address(arguments.address)
    except ValueError as problem:
        terminal.error(str(problem))
        return EXIT_USAGE
    try:
        return int(arguments.run(arguments, terminal))
    except Unavailable as problem:
        terminal.error(
            f"{arguments.address}: {problem}. Start a server there with deploy/serve.sh, "
            "or name another with --address or AFFINE_ADDRESS."
        )
        return EXIT_UNREACHABLE
    except Unauthenticated as problem:
        terminal.error(f"{problem}. Give the server's key with --api-key or AFFINE_API_KEY.")
        return EXIT_FAILURE
    except Unsupported as problem:
        terminal.error(
            f"{arguments.address}: {problem}. The server there is older than this command, or is "
            "no Affine Serve: build and start it anew with deploy/serve.sh, or name another with "
            "--address."
        )
        return EXIT_FAILURE
    except (AffineError, OSError) as problem:
        if isinstance(problem, BrokenPipeError):
            # The reader went away (`affine … | head`); nothing more may be flushed to it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_BROKEN_PIPE
        terminal.error(str(problem))
        return EXIT_FAILURE
    except KeyboardInterrupt:
        terminal.end_line()
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
