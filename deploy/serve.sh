#!/usr/bin/env bash
# Sets up, builds and starts affine_server on a bare Debian 12.
#
#   deploy/serve.sh [flags of affine_server] [FOLDER]
#
# Without a model it serves SmolLM2-135M-Instruct with affine attention as model/convert/adapters tuned
# it, made on first use. Steps that are done are skipped: a second start is ready in seconds.
# Environment: LIBTORCH= a torch 2.11.0 folder to use; AFFINE_VENV, AFFINE_BUILD, AFFINE_MODELS other
# places for what is made.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# Booleans among the server's flags: the word after one is not its value.
booleans=(enable_prefix_caching vllm_metrics)

is_boolean() {
  local name
  for name in "${booleans[@]}"; do
    case $1 in "$name" | "no$name" | "no_$name") return 0 ;; esac
  done
  return 1
}

# needs_default ARGUMENT...: whether they name no model and ask to serve, read as the server reads them.
needs_default() {
  local word
  while [ $# -gt 0 ]; do
    word=$1; shift
    case $word in
      --) [ $# -eq 0 ]; return ;; # what follows is a folder
      -?*) ;;
      *) return 1 ;; # a folder
    esac
    word=${word#-}; word=${word#-}
    case ${word%%=*} in model | help | h | version) return 1 ;; esac
    case $word in *=*) continue ;; esac
    is_boolean "${word//-/_}" || [ $# -eq 0 ] || shift
  done
}

debian_packages "$repo/deploy/debian-packages.txt"
make_venv
libtorch
xgrammar
build_targets release "$build" affine_server
if [ -z "${AFFINE_MODEL:-}" ] && needs_default "$@"; then
  default_models
  export AFFINE_MODEL=$default_model
fi
# Not the server's: it would take them for misspelt variables of its own.
unset AFFINE_VENV AFFINE_BUILD AFFINE_MODELS
exec "$build/server/app/affine_server" "$@"
