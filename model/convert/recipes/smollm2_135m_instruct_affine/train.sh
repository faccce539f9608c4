#!/usr/bin/env bash
# Makes the adapter of the default model anew: texts, samples, training.
#
#   model/convert/recipes/smollm2_135m_instruct_affine/train.sh WORK_FOLDER
#
# Needs the plain model and affine_server as deploy/serve.sh makes them, and a Python with
# requirements-training.txt: AFFINE_TRAINING_PYTHON, else .venv-reference's. The adapter and its record
# end in WORK_FOLDER. Stopped at any time, the same command goes on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../../../.." && pwd)
work=${1:?usage: train.sh WORK_FOLDER}
python=${AFFINE_TRAINING_PYTHON:-$repo/.venv-reference/bin/python}
plain=${AFFINE_MODELS:-$repo/models}/smollm2-135m-instruct
server=${AFFINE_BUILD:-$repo/build}/server/app/affine_server
port=${AFFINE_PORT:-18431}
mkdir -p "$work"

sample() {
  "$server" --port="$port" --log_level=warning "$plain" &
  local server_process=$!
  trap 'kill $server_process' EXIT
  until curl -sf "http://127.0.0.1:$port/ready" >/dev/null; do
    kill -0 $server_process || { echo "the server ended; its message stands above" >&2; exit 1; }
    sleep 0.2
  done
  "$python" "$here/sample_texts.py" "$work/samples.partial" --url "http://127.0.0.1:$port"
  mv "$work/samples.partial" "$work/samples.txt"
  kill $server_process
  trap - EXIT
}

[ -f "$work/samples.txt" ] || sample
[ -f "$work/texts/sources.json" ] ||
  "$python" "$here/collect_texts.py" "$work/texts" --samples "$work/samples.txt"
PYTHONPATH=$repo/model/convert "$python" -m affine_convert finetune "$plain" "$work/adapter.safetensors" \
  --text-dir "$work/texts/train" --held-out "$work"/texts/held-out/*.txt \
  --steps 160 --batch 4 --length 512 --seed 1 --checkpoint-every 20 --threads 2
