# `make fly` and `make test` make their own environment and need nothing but Python 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock'
ARGS ?=
HITL_S ?= 1800
# Five at a time, since they often wait, a file to each, in the order of test/longest_first.py.
PYTEST := $(BIN)/python -m pytest -n 5 --dist loadfile --no-loadscope-reorder

.PHONY: fly test test-fast test-long oracle check verify bench soak hitl pictures site all-flights validation \
	coverage lock newest clean

fly: $(VENV)/.run
	$(BIN)/python -m px4_sim_ros fly --report flight.html $(ARGS)

test: $(VENV)/.test
	$(PYTEST) $(ARGS)

# What is too long for each push: the fingerprints of all that the package brings.
test-long: $(VENV)/.test
	LONG=1 $(PYTEST) -m long $(ARGS)

# Writes the fingerprints that test-long compares with, after a change of bits that is meant.
oracle: $(VENV)/.test
	rm -f oracle.txt
	LONG=1 ORACLE_OUT=$(CURDIR)/oracle.txt $(BIN)/python -m pytest -q test/flight/test_oracle.py
	LC_ALL=C sort -o test/flight/oracle.txt oracle.txt && rm oracle.txt

# What starts no more than small processes: an answer in about a minute on two cores.
test-fast: $(VENV)/.test
	$(PYTEST) -m unit $(ARGS)

# What `test` does as well, among its tests.
check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# All models against closed forms, tables and other libraries.
verify: $(VENV)/.test
	PYTHONPATH=test $(BIN)/python -m verification

# The pictures of the documents; the script says what it needs.
pictures: $(VENV)/.test
	PYTHONPATH=. PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/make_pictures.py $(ARGS)

# The documents as a site that can be searched, in the folder site; a broken link fails.
site: $(VENV)/.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The table of all vehicles in docs/journal/measured.md: make all-flights ARGS="--px4-dir ..."
all-flights: $(VENV)/.test
	PYTHONPATH=. $(BIN)/python docs/fly_all.py $(ARGS)

# The figures of docs/journal/validation.md, from logs that the script names: make validation DATA=folder
validation: $(VENV)/.test
	PYTHONPATH=. $(BIN)/python docs/make_validation.py $(DATA) $(ARGS)

# How many of identify's intervals have the true number: make coverage OUT=folder, with PX4_DIR
coverage: $(VENV)/.test
	PYTHONPATH=. $(BIN)/python docs/count_intervals.py $(OUT) $(ARGS)

bench: $(VENV)/.run
	$(BIN)/python -m benchmarks $(ARGS)

# A simulated hour in the air and a hundred starts and stops: some ten minutes.
soak: $(VENV)/.test
	LONG=1 SOAK_S=3600 GRAPH_STARTS=100 $(BIN)/python -m pytest -s \
		test/flight/test_soak.py test/flight/test_run_control.py $(ARGS)

# Half an hour of HITL by a PX4 without lockstep (PX4_DIR), on a machine that does nothing else; a
# shorter one: make hitl HITL_S=60
hitl: $(VENV)/.test
	LONG=1 HITL_S=$(HITL_S) $(BIN)/python -m pytest -s --timeout 0 -o faulthandler_timeout=0 \
		test/flight/test_hitl_px4.py -k no_period_is_missed $(ARGS)

# What `fly` and `test` install, with hashes, after a change of requirements*.txt; it needs uv.
lock:
	$(LOCK) $(ARGS) -o requirements.lock requirements.txt requirements-pip.txt
	$(LOCK) $(ARGS) -o requirements-test.lock -c requirements.lock \
		requirements-test.txt requirements-pip.txt

# The tests with the newest versions of all that requirements*.txt name, also of ROS 2's wheels.
newest:
	$(PYTHON) -m venv --clear .newest
	cat requirements*.txt | sed '/^-r/d; s/==/>=/; s/,<[0-9.]*//' > .newest/requirements.txt
	.newest/bin/python -m pip install --quiet --disable-pip-version-check -r .newest/requirements.txt
	touch .newest/.venv .newest/.test
	$(MAKE) test VENV=.newest

clean:
	rm -rf $(VENV) .newest build install log site

$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or newer is needed; name it with PYTHON=python3.x' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo 'The venv module is missing; on Debian: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: requirements.lock $(VENV)/.venv
	$(PIP) --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.site: requirements-docs.txt $(VENV)/.venv
	$(PIP) -r requirements-docs.txt
	@touch $@

$(VENV)/.test: requirements-test.lock $(VENV)/.venv
	$(PIP) --require-hashes -r requirements-test.lock
	@touch $@
