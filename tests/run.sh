#!/usr/bin/env bash
# Sets up, builds and runs every test, on a bare Debian 12.
#
#   tests/run.sh [--quick]
#
# --quick leaves out the sanitizer builds, what needs a full torch (the reference, fine-tuning), and tests
# marked slow.
# Each step's output is shown; a table at the end says what passed and how long it took.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../deploy/setup.sh"

with_tests=ON # for build_targets
quick=
case ${1:-} in
  --quick) quick=yes ;;
  "") ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
results=()
failed=0

# step NAME COMMAND...: runs it, remembers how it ended.
step() {
  local name=$1 begin=$SECONDS verdict=passed; shift
  say "$name"
  "$@" || { verdict=FAILED; failed=$((failed + 1)); }
  results+=("$(printf '%-44s %-7s %5d s' "$name" "$verdict" $((SECONDS - begin)))")
}

# beside NAME COMMAND...: a step in the background, for what leaves a core idle; its output waits for `await`.
# Not for what is to be interrupted: a script's background processes don't hear SIGINT.
beside() {
  beside_name=$1 beside_begin=$SECONDS; shift
  beside_log=$(mktemp)
  "$@" >"$beside_log" 2>&1 &
  beside_pid=$!
}

# await: the end of the step in the background.
await() {
  local verdict=passed
  wait "$beside_pid" || { verdict=FAILED; failed=$((failed + 1)); }
  say "$beside_name"
  cat "$beside_log"
  rm -f "$beside_log"
  results+=("$(printf '%-44s %-7s %5d s' "$beside_name" "$verdict" $((SECONDS - beside_begin)))")
}

set_up() {
  debian_packages "$repo/deploy/debian-packages.txt" "$repo/tests/debian-packages.txt"
  make_venv
  libtorch
  xgrammar
  python_packages tests -r "$repo/deploy/requirements.txt" -r "$repo/tests/requirements.txt"
  made_from=$repo/proto/affine/v1/completion.proto python_packages client -e "$repo/clients/python[report]"
  python_packages convert --no-deps -e "$repo/model/convert"
  default_models
  make_identity_model
}

formatting() {
  (cd "$repo" && git ls-files -co --exclude-standard '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror)
}

full_torch() { # for reference and fine-tuning: LibTorch's wheel lacks the CUDA libraries that `import torch` asks for
  local reference=$repo/.venv-reference
  [ -x "$reference/bin/pip" ] || python3 -m venv "$reference"
  (venv=$reference && need_disk 8 && python_packages reference -r "$repo/tests/golden/requirements.txt" \
    -r "$repo/model/convert/requirements-training.txt")
}

sanitized() {
  local preset=$1
  build_targets "$preset" "$build-$preset" core_tests && ctest --test-dir "$build-$preset" -L core -j2 --output-on-failure
}

test_python() {
  local marks=()
  [ -z "$quick" ] || marks=(-m "not slow")
  (cd "$repo" && AFFINE_SERVER_BINARY=$build/server/app/affine_server AFFINE_SCORE=$build/tests/golden/affine_score \
    AFFINE_COMPLETE_EXAMPLE=$build/clients/cpp/affine_complete_example AFFINE_TEST_MODEL=$default_model \
    AFFINE_TEST_PLAIN_MODEL=$plain_model AFFINE_TEST_IDENTITY_MODEL=$identity_model \
    "$venv/bin/python" -m pytest -q -p no:cacheprovider "${marks[@]}" "$@")
}

test_with_torch() {
  (cd "$repo" && .venv-reference/bin/python -m pytest -q -p no:cacheprovider -c tests/pytest.ini "$@")
}

set_up
python=$venv/bin/python
lines=100000
[ -z "$quick" ] || lines=5000
step "formatting" formatting
[ -n "$quick" ] || beside "full torch for the reference" full_torch
step "build" build_targets release "$build" all
[ -n "$quick" ] || await
step "arrows between rooms, and the wall" "$python" "$repo/tests/rooms.py" "$build"
step "C++ tests" ctest --test-dir "$build" -j2 --output-on-failure
if [ -z "$quick" ]; then
  step "core under the address sanitizer" sanitized asan
  step "core under the thread sanitizer" sanitized tsan
fi
beside "golden values" test_python tests/golden/test_against_model.py tests/golden/test_score_program.py \
  tests/golden/test_compare_with_transformers.py
step "converter, clients, deployment, build" test_python tests/model/convert tests/model/jinja tests/clients \
  tests/deploy tests/cmake tests/bench
await
beside "tokenizer against the tokenizers package" "$python" "$repo/tests/model/tokenizer/compare_with_hf.py" \
  --program "$build/tests/model/tokenizer/tokenize_lines" --lines "$lines" "$plain_model"
if [ -z "$quick" ]; then
  step "twenty prompts against transformers" env AFFINE_SCORE="$build/tests/golden/affine_score" \
    "$python" "$repo/tests/golden/compare_with_transformers.py" --checkpoint="$plain_model" \
    --affine_checkpoint="$identity_model"
fi
await
step "the real server" test_python tests/integration
if [ -z "$quick" ]; then
  step "the reference itself" test_with_torch tests/golden/test_reference.py
  step "fine-tuning, against the reference" test_with_torch tests/model/convert/training
fi

printf '\n%s\n' "${results[@]}"
printf '%d passed, %d failed\n' $((${#results[@]} - failed)) "$failed"
[ "$failed" = 0 ]
