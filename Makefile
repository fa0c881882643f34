# Everything runs in .venv, which the first target sets up; nothing else on the machine is used or changed.
# Another Python: make PYTHON=/path/to/python3.12 …

ifneq ($(wildcard .venv/bin/python),)
PYTHON ?= .venv/bin/python
endif
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))

BIN := .venv/bin
READY := .venv/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
OUT ?= demo-output
SAMPLES := $(sort $(patsubst %/truth.json,%,$(wildcard sample_traces/*/truth.json)))

.PHONY: help setup demo quick affected test extras coverage lint types format check samples bench calibrate columns dist oracle attack stories docs links clean

help: ## list these targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: $(READY) ## make .venv with tracekit and its development tools

$(READY): pyproject.toml tracekit/parsers/_columns.pyx tracekit/parsers/xml/_scanner.pyx $(wildcard tracekit/parsers/xml/scan_source/*)
	@test -n "$(PYTHON)" || { echo "tracekit needs Python 3.11 or later; none was found (make PYTHON=… names one)." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test ! -d tracekit.egg-info || { $(BIN)/python -m pip uninstall --quiet --yes tracekit; rm -rf tracekit.egg-info; } # its former name
	$(INSTALL) --editable '.[dev]'
	@touch $@

demo: $(READY) ## tracekit demo, and all sample recordings as text, JSON and pages
	@mkdir -p $(OUT)
	@$(BIN)/tracekit demo --no-browser
	@echo
	@echo "All $(words $(SAMPLES)) synthetic recordings, as text, JSON and pages:"
	@for sample in $(SAMPLES); do \
		output=$(OUT)/$$(basename $$sample); \
		$(BIN)/tracekit analyze $$sample --force --output $$output.txt || exit 1; \
		$(BIN)/tracekit analyze $$sample --force --output $$output.json || exit 1; \
		$(BIN)/tracekit report $$sample --force --output $$output.html || exit 1; \
	done

# Where memory serves as a disk (Linux), temporary files go there: the tests write and sync thousands of them.
MEMORY_DISK := $(shell grep -sq '^[^ ]* /dev/shm .*noexec' /proc/mounts || df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 8000000 { print $$6 }')
# The tests start tracekit hundreds of times; it is compiled once.
unexport PYTHONDONTWRITEBYTECODE
# No test multiplies large matrices: the threads that numpy starts for it wait busily.
export OPENBLAS_NUM_THREADS := 1

# make test coverage COVERAGE=1: the lines and branches that the tests reach in their own processes
MEASURE := $(if $(COVERAGE),-m slipcover --dont-wrap-pytest --out coverage.json)
PYTEST := $(if $(MEMORY_DISK),TMPDIR=$(MEMORY_DISK)) $(BIN)/python $(MEASURE) -m pytest -n auto --dist loadfile --no-loadscope-reorder
EXTRA := browser or consumers or fuzz

quick: $(READY) ## run the unit tests: no other process, no browser, two minutes of CPU time at most
	TRACEKIT_EXAMPLES=5 $(PYTEST) -m unit

affected: $(READY) ## run the tests that a change since BASE (main) can reach, without a browser
	@tests=$$($(BIN)/python tests/support/affected_tests.py $(BASE)) && if test -n "$$tests"; then \
		$(PYTEST) -m "not ($(EXTRA))" $$tests; else echo "No test imports what has changed."; fi

test: $(READY) ## run every test that needs no further program
	$(PYTEST) -m "not ($(EXTRA))"

extras: $(READY) ## run the tests that drive Chromium, read exports with their programs, or fuzz
	$(PYTEST) -m "$(EXTRA)"

coverage: $(READY) ## line and branch coverage of the tests run with COVERAGE=1; fail below the floors
	$(BIN)/python tests/support/coverage_report.py coverage.json tracekit=92 dashboard=85

lint: $(READY) ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy --strict
	$(BIN)/mypy

format: $(READY) ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint types test ## lint, types and tests

samples: $(READY) ## write sample_traces/ anew with its generator, and pack those that come with the package
	$(BIN)/python -m sample_generator
	$(BIN)/python -c 'from tracekit.samples import SAMPLE_RECORDINGS as samples; [print(s.source, s.path) for s in samples]' | \
		while read -r source path; do $(BIN)/tracekit pack sample_traces/$$source --force -o "$$path" || exit 1; done

bench: $(READY) ## how long things take, and how that grows with their size
	$(BIN)/python benchmarks/scan.py --out bench-scan.json
	$(BIN)/python benchmarks/start.py --out bench-start.json
	$(BIN)/python benchmarks/fusion.py --out bench.json
	$(BIN)/python benchmarks/findings.py --out bench-findings.json
	$(BIN)/python benchmarks/budget.py --out bench-budget.json
	$(BIN)/python benchmarks/language_models.py --out bench-language-models.json
	$(BIN)/python benchmarks/engine_log.py --out bench-log.json
	$(BIN)/python benchmarks/spindump.py --out bench-spindump.json
	$(BIN)/python benchmarks/log_text.py --out bench-log-text.json
	$(BIN)/python benchmarks/live_watch.py --out bench-live-watch.json
	$(BIN)/python benchmarks/kdebug_stream.py --out bench-kdebug.json
	$(BIN)/python benchmarks/growth.py --out bench-growth.json
	$(BIN)/python benchmarks/export_overlap.py --out bench-export.json
	$(BIN)/python benchmarks/report_size.py --out bench-report.json
	$(BIN)/python benchmarks/report_page.py --out bench-page.json
	$(BIN)/python benchmarks/dashboard_page.py --out bench-dashboard.json
	$(BIN)/python benchmarks/dashboard_library.py --out bench-library.json
	$(BIN)/python benchmarks/dashboard_upload.py --out bench-upload.json
	$(BIN)/python benchmarks/dashboard_options.py --out bench-options.json
	$(BIN)/python benchmarks/lint.py --out bench-lint.json
	$(BIN)/python benchmarks/plan_matching.py --out bench-plan-matching.json
	$(BIN)/python benchmarks/fleet.py --out bench-fleet.json
	$(BIN)/python benchmarks/fleet_questions.py --out bench-fleet-questions.json
	$(BIN)/python benchmarks/model_files.py --out bench-model-files.json

# make attack MINUTES=60: more of everything; docs/security.md has the figures of a full run
MINUTES ?= 15

attack: $(READY) ## attack the readers, the dashboard and the recorder for MINUTES (15), and print what was found
	$(BIN)/python tests/attack/run.py --minutes $(MINUTES)

# make stories SEEDS=3000 STORIES='--first 50000': other stories than those of the tests
SEEDS ?= 10000

stories: $(READY) ## analyse SEEDS (10,000) random recordings that hold their truth, and print those that refute it
	PYTHONPATH=tests/support:. $(BIN)/python -m stories --seeds $(SEEDS) $(STORIES)

calibrate: $(READY) ## the error rates of comparisons, first sentences, findings, turns, sessions, requirements and changes on simulated recordings, into docs/statistics.md
	$(BIN)/python benchmarks/error_rates.py --out bench-error-rates.json
	$(BIN)/python benchmarks/error_rates.py --docs bench-error-rates.json
	$(BIN)/python benchmarks/sentence_rates.py --out bench-sentence-rates.json
	$(BIN)/python benchmarks/sentence_rates.py --docs bench-sentence-rates.json
	$(BIN)/python benchmarks/finding_rates.py --out bench-finding-rates.json
	$(BIN)/python benchmarks/finding_rates.py --docs bench-finding-rates.json
	$(BIN)/python benchmarks/session_rates.py --out bench-session-rates.json
	$(BIN)/python benchmarks/session_rates.py --docs bench-session-rates.json
	$(BIN)/python benchmarks/turn_rates.py --out bench-turn-rates.json
	$(BIN)/python benchmarks/turn_rates.py --docs bench-turn-rates.json
	$(BIN)/python benchmarks/unequal_spread_rates.py --out bench-unequal-spread-rates.json
	$(BIN)/python benchmarks/unequal_spread_rates.py --docs bench-unequal-spread-rates.json
	$(BIN)/python benchmarks/requirement_rates.py --out bench-requirement-rates.json
	$(BIN)/python benchmarks/requirement_rates.py --docs bench-requirement-rates.json
	$(BIN)/python benchmarks/change_rates.py --out bench-change-rates.json
	$(BIN)/python benchmarks/change_rates.py --docs bench-change-rates.json

columns: $(READY) ## the JSON schema's columns of a call, and the skill for assistants, from their declarations
	$(BIN)/python -m docs.generators.write_files

docs: $(READY) ## the documentation as a site in build/docs: checked for spelling, warnings are errors, nothing is fetched
	$(BIN)/codespell --toml pyproject.toml README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs tracekit dashboard
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs \
	    || { rm -rf build/docs/.doctrees; exit 1; } # the next build reads a page with a warning again

links: $(READY) ## fetch what the documentation links to on other sites, and name what is gone or has moved
	$(BIN)/python -m sphinx --builder linkcheck --quiet docs build/links

# Apple's packages in an environment of their own: coreai-core needs a newer numpy than tracekit asks for.
ORACLE := .venv-coreai/.ready

oracle: $(ORACLE) ## make .venv-coreai with Apple's packages (Linux, 430 MB): the tests make models and probes with them

$(ORACLE): $(READY)
	$(BIN)/python -m venv .venv-coreai
	.venv-coreai/bin/python -m pip install --quiet --disable-pip-version-check coreai-core==1.0.0b3 coremltools==9.0
	@touch $@

dist: $(READY) ## a release of the last commit in dist/: archives, digests, bill of materials, Homebrew formula, notes
	$(BIN)/python release/build.py

clean: ## remove .venv and everything that was generated
	rm -f tracekit/parsers/xml/_scanner.c tracekit/parsers/_columns.c tracekit/parsers/*.so tracekit/parsers/xml/*.so
	rm -rf .venv .venv-coreai $(OUT) bench*.json coverage.json build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
