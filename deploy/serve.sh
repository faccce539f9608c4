#!/usr/bin/env bash
# Sets up, builds and starts affine_server on a bare Debian 12.
#
#   deploy/serve.sh [flags of affine_server]
#
# Without --model it serves SmolLM2-135M-Instruct with affine attention, made on first use. Steps that
# are done are skipped: a second start is ready in seconds. Environment: LIBTORCH= a torch 2.11.0
# folder to use; AFFINE_VENV, AFFINE_BUILD, AFFINE_MODELS other places for what is made.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

debian_packages "$repo/deploy/debian-packages.txt"
make_venv
libtorch
build_targets release "$build" affine_server
server=$build/server/app/affine_server

wants_default=yes
[ -n "${AFFINE_MODEL:-}" ] && wants_default=
case ${1:--} in [!-]*) wants_default= ;; esac # a model named without its flag
for flag in "$@"; do
  case $flag in --model | --model=* | --help* | --version) wants_default= ;; esac
done
if [ -n "$wants_default" ]; then
  default_models
  set -- --model="$default_model" "$@"
fi
exec "$server" "$@"
