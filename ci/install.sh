#!/usr/bin/env bash
# Install the tracekit of this commit into an environment beside it, once per job; write its path as the output "tracekit".
set -euo pipefail

root=$(cd -- "$GITHUB_ACTION_PATH/.." && pwd)
environment=$root/.venv-action
if [[ ! -d $environment ]]; then "$PYTHON" -m venv "$environment"; fi
bin=$environment/bin
if [[ -d $environment/Scripts ]]; then bin=$environment/Scripts; fi # Windows
if [[ ! -e $bin/tracekit && ! -e $bin/tracekit.exe ]]; then
	"$bin/python" -m pip install --quiet --disable-pip-version-check "$root"
fi
printf 'tracekit=%s\n' "$bin/tracekit" >>"$GITHUB_OUTPUT"
