#!/usr/bin/env bash
# Draws what a text does to the attention of the default model and of the plain model it was made from,
# side by side.
#
#   deploy/report.sh TEXT_FILE [OUT_FOLDER]
#
# Writes report.html and report.json into OUT_FOLDER, by default the current one. Sets up and builds
# whatever is not there yet, as serve.sh does; both models are served by one process on AFFINE_PORT
# (default 18432) while it runs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[ $# -ge 1 ] && [ $# -le 2 ] || die "usage: deploy/report.sh TEXT_FILE [OUT_FOLDER]"
text=$1 out=${2:-.} port=${AFFINE_PORT:-18432}
[ -r "$text" ] || die "$text can't be read; name a text file"

debian_packages "$repo/deploy/debian-packages.txt"
make_venv
libtorch
xgrammar
build_targets release "$build" affine_server
default_models
made_from=$repo/proto/affine/v1/completion.proto python_packages client -e "$repo/clients/python[report]"

mkdir -p "$out"
unset AFFINE_PORT AFFINE_VENV AFFINE_BUILD AFFINE_MODELS # not the server's: it would take them for its own
"$build/server/app/affine_server" --port="$port" --log_level=warning \
  "affine=$default_model" "plain=$plain_model" >&2 &
server_process=$!
trap 'kill $server_process' EXIT
until curl -sf "http://127.0.0.1:$port/ready" >/dev/null; do
  kill -0 $server_process 2>/dev/null || die "the server ended; its message stands above"
  sleep 0.2
done
"$venv/bin/affine" report "$text" --address "127.0.0.1:$port" --model affine --compare plain \
  --out "$out/report.html" --json "$out/report.json"
