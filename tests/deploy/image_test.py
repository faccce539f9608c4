"""The image's last stage holds every library that the built affine_server loads.

Libraries of Debian come from a package that the stage installs, or from one that such a package
depends on; the others come from the wheels and are copied by name.
"""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
DOCKERFILE = (REPO / "Dockerfile").read_text()
SERVER = Path(os.environ.get("AFFINE_SERVER_BINARY", REPO / "build/server/app/affine_server"))
# Why hadolint's rules are left out: Debian's stable release already fixes versions (DL3008), and the
# list of packages is meant to be split into words (SC2046).
LEFT_OUT = ["DL3008", "SC2046"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def loaded_libraries():
    """{name: path} of what the loader finds for affine_server; one not found is a failure."""
    lines = [line.split() for line in output("ldd", str(SERVER)).splitlines() if "=>" in line]
    missing = [words[0] for words in lines if words[2] == "not"]
    assert not missing, f"not found on this machine: {missing}"
    return {words[0]: Path(words[2]).resolve() for words in lines}


def package_by_library():
    """{name: the Debian package that installed it, or None}. Packages name /lib and /usr/lib alike."""
    libraries = loaded_libraries()
    spellings = {str(path).removeprefix("/usr"): name for name, path in libraries.items()}
    names = [*spellings, *map(str, libraries.values())]
    # dpkg exits with 1 when any of the names is unknown to it, which each is in one of its spellings.
    found = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, timeout=60).stdout
    packages = dict.fromkeys(libraries)
    for line in found.splitlines():
        package, path = line.split(": ")
        packages[spellings[path.removeprefix("/usr")]] = package.split(":")[0]
    return packages


def with_dependencies(packages):
    lines = output("dpkg-query", "-W", "-f", "${Package}\t${Pre-Depends},${Depends}\n").splitlines()
    depends = dict(line.split("\t") for line in lines)
    seen, todo = set(), set(packages)
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= set(re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]+)", depends.get(name, ""))) - seen
    return seen


def installed_by_the_cpu_stage():
    stage = DOCKERFILE.split(" AS cpu\n")[1]
    command = re.search(r"--no-install-recommends([^&]+)&&", stage)[1]
    return command.replace("\\\n", " ").split()


def test_debians_libraries_are_installed_by_the_cpu_stage():
    needed = package_by_library()
    assert "libgrpc++1.51" in needed.values()
    provided = with_dependencies(installed_by_the_cpu_stage())
    assert not {name: package for name, package in needed.items() if package and package not in provided}


def test_other_libraries_are_copied_from_the_wheels_and_no_more():
    copied = set(re.findall(r'"\$packages"/\S+/(lib[^/\s]+\.so\S*)', DOCKERFILE))
    assert copied == {name for name, package in package_by_library().items() if package is None}


def test_the_default_version_is_the_projects():
    (project,) = re.findall(r"^project\(\S+ VERSION (\S+)", (REPO / "CMakeLists.txt").read_text(), re.M)
    assert re.findall(r"^ARG VERSION=(\S+)", DOCKERFILE, re.M) == [project]


def test_hadolint_has_nothing_to_say():
    program = Path(sysconfig.get_path("scripts")) / "hadolint"
    flags = [word for rule in LEFT_OUT for word in ("--ignore", rule)]
    found = subprocess.run(
        [program, "--no-color", *flags, REPO / "Dockerfile"], capture_output=True, text=True, timeout=60
    )
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr
