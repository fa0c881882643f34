#!/usr/bin/env bash
# Run tracekit check, or compare where a base is given, with the inputs of action.yml in INPUT_… variables.
# Lines of them become arguments as they are: they are neither split nor expanded. Bash 3.2 (macOS) is enough.
set -euo pipefail

refuse() {
	printf '::error title=tracekit action::%s\n' "$1"
	printf 'exit-code=2\n' >>"$GITHUB_OUTPUT"
	exit 2
}

read_lines() { # TEXT → the array "lines", without empty lines
	local line
	lines=()
	while IFS= read -r line; do
		line=${line%$'\r'}
		if [[ $line == *[![:space:]]* ]]; then lines+=("$line"); fi
	done <<<"$1"
}

add_option() { # NAME TEXT: the option once for each line
	local line
	read_lines "$2"
	for line in ${lines[@]+"${lines[@]}"}; do arguments+=("--$1=$line"); done
}

refuse_with() { # NAME TEXT REASON
	if [[ -n $2 ]]; then refuse "The input $1 is for $3."; fi
}

case $INPUT_REPORT$INPUT_JUNIT in *$'\n'*) refuse "The inputs report and junit are one path each." ;; esac

read_lines "$INPUT_BASE"
if ((${#lines[@]})); then
	refuse_with requirements "$INPUT_REQUIREMENTS" "checks: leave out base, or use fail-on"
	refuse_with forbid "$INPUT_FORBID" "checks: leave out base, or use fail-on"
	refuse_with config "$INPUT_CONFIG" "checks: leave out base, or use fail-on"
	refuse_with junit "$INPUT_JUNIT" "checks: leave out base"
	inputs=("${lines[0]}")
	arguments=(compare)
	for line in "${lines[@]:1}"; do arguments+=("--base=$line"); done
	read_lines "$INPUT_RECORDINGS"
	inputs+=(${lines[@]+"${lines[@]}"})
	add_option fail-on "$INPUT_FAIL_ON"
else
	refuse_with fail-on "$INPUT_FAIL_ON" "comparisons: give a base, or use requirements"
	read_lines "$INPUT_RECORDINGS"
	if ! ((${#lines[@]})); then refuse "The input recordings is empty."; fi
	inputs=("${lines[0]}")
	arguments=(check)
	for line in "${lines[@]:1}"; do arguments+=("--also=$line"); done
	add_option require "$INPUT_REQUIREMENTS"
	add_option forbid "$INPUT_FORBID"
	add_option config "$INPUT_CONFIG"
	add_option junit "$INPUT_JUNIT"
fi
add_option open "$INPUT_OPEN"
add_option report "$INPUT_REPORT"
read_lines "$INPUT_OPTIONS"
arguments+=(${lines[@]+"${lines[@]}"})

for path in "$INPUT_REPORT" "$INPUT_JUNIT"; do
	if [[ -n $path ]]; then mkdir -p -- "$(dirname -- "$path")"; fi
done

code=0
"$TRACEKIT" "${arguments[@]}" --format=github --force -- "${inputs[@]}" || code=$?
printf 'exit-code=%s\n' "$code" >>"$GITHUB_OUTPUT"
case $code in 0 | 1 | 5) printf 'report=%s\n' "$INPUT_REPORT" >>"$GITHUB_OUTPUT" ;; esac # with others, none was written
exit "$code"
