# Everything that one does with this repository. It needs make, pip and Python 3.11 or later.

BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
ARGS ?=

is_new_enough := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p $(is_new_enough) 2>/dev/null && echo $$p && break; done)

# Some tests run JavaScript: where there is no npm, they are skipped.
NODE := $(if $(shell command -v npm 2>/dev/null),.venv/.node)

.PHONY: help install serve reset test check format coverage bench bench-against dist release docs lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.run ## create .venv with the locked dependencies and the package, if not up to date

serve: .venv/.run ## serve on 127.0.0.1:8080, with a sample company in ./data on first use
	@$(BIN)/comptoir serve --quickstart $(ARGS)

reset: .venv/.run ## bring the sample company in ./data back to its first state, after asking
	@$(BIN)/comptoir reset $(ARGS)

test: .venv/.test $(NODE) ## run the whole suite, on all cores (make test ARGS='-k etag' for a part)
	@$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

check: .venv/.check ## run the formatter, linter, type checker and house rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest --quiet tests/house

format: .venv/.check ## format the sources, sort their imports, and fix what the linter can fix
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

coverage: .venv/.test $(NODE) ## run the whole suite, and list the lines that it does not reach
	@$(BIN)/coverage run -m pytest $(ARGS)
	@$(BIN)/coverage report

bench: .venv/.bench ## run the benchmark, and print its figures as a table
	@PYTHONPATH=tests $(BIN)/python bench/run.py $(ARGS)

bench-against: .venv/.bench ## compare the CPU time of requests with another checkout: CHECKOUT=path
	@PYTHONPATH=tests $(BIN)/python bench/against.py "$(CHECKOUT)" $(ARGS)

# What is built has the time of the commit, so that each build of it has the same bytes.
TIME = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
DATED = $(if $(TIME),SOURCE_DATE_EPOCH=$(TIME))

dist: .venv/.check ## build what a release publishes into ./dist: packages, and a bill of materials
	@rm -rf build dist && mkdir build
	@$(DATED) $(BIN)/python -m hatchling build --directory dist
	@version=$$($(BIN)/python -m hatchling version) && \
		sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/pyproject.toml && \
		$(DATED) $(BIN)/python -W ignore::UserWarning -m cyclonedx_py requirements --no-validate \
		--output-reproducible --pyproject build/pyproject.toml \
		--output-file "dist/comptoir-$$version.cdx.json" requirements/run.txt

release: .venv/.check ## build twice, compare and check what the tag of this commit releases
	@$(BIN)/python tools/release_files.py

docs: .venv/.run ## generate docs/reference
	@$(BIN)/python tools/reference.py docs/reference

# Each file is resolved within the pins of those before it, for every Python and platform at once.
LOCK := $(BIN)/uv pip compile --no-config --quiet --universal --python-version 3.11 \
	--generate-hashes --custom-compile-command 'make lock' \
	--constraints requirements/constraints.txt $(ARGS)

lock: .venv/.check ## pin the dependencies again (make lock ARGS=--upgrade for the latest releases)
	@$(LOCK) pyproject.toml --output-file requirements/run.txt
	@$(LOCK) --group build --constraints requirements/run.txt --output-file requirements/build.txt
	@$(LOCK) --group test --constraints requirements/run.txt --constraints requirements/build.txt \
		--output-file requirements/test.txt
	@$(LOCK) --group check --constraints requirements/run.txt --constraints requirements/build.txt \
		--constraints requirements/test.txt --output-file requirements/check.txt
	@$(LOCK) --group bench --constraints requirements/run.txt --constraints requirements/build.txt \
		--constraints requirements/test.txt --output-file requirements/bench.txt
	@$(if $(NODE),npm --prefix tests/clients install --package-lock-only --silent)

clean: ## remove installed and generated files, except ./data
	rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find bench docs src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# An empty file in .venv marks each layer of it as up to date.

.venv/.run: requirements/build.txt requirements/run.txt pyproject.toml src/comptoir/__init__.py | $(BIN)/python
	@echo "installing comptoir and its locked dependencies into .venv"
	@$(PIP) install --require-hashes -r requirements/build.txt -r requirements/run.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

.venv/.test: requirements/test.txt .venv/.run
	@echo "installing what the tests need"
	@$(PIP) install --require-hashes -r requirements/test.txt
	@# otherwise each process of the first run compiles all tests
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null
	@touch $@

.venv/.node: tests/clients/package.json tests/clients/package-lock.json .venv/.test
	@echo "installing the JavaScript packages that the tests run"
	@rm -rf .venv/node && mkdir .venv/node
	@cp tests/clients/package.json tests/clients/package-lock.json tests/clients/.npmrc .venv/node
	@npm --prefix .venv/node ci --loglevel=error >/dev/null && touch $@ || \
		echo "they cannot be installed: the tests that run them are skipped" >&2

.venv/.check: requirements/check.txt .venv/.test
	@echo "installing what the checks need"
	@$(PIP) install --require-hashes -r requirements/check.txt
	@touch $@

.venv/.bench: requirements/bench.txt .venv/.test
	@echo "installing what the benchmark needs"
	@$(PIP) install --require-hashes -r requirements/bench.txt
	@touch $@

# Some systems ship Python without the part of venv that brings pip: there, pip installs itself.
$(BIN)/python:
	@'$(PYTHON)' $(is_new_enough) 2>/dev/null || { echo "comptoir needs Python 3.11 or later:" \
		"install it, or name one with 'make PYTHON=...'" >&2; exit 1; }
	@if '$(PYTHON)' -c 'import ensurepip' 2>/dev/null; then \
		'$(PYTHON)' -m venv --clear .venv; \
	else \
		'$(PYTHON)' -m venv --clear --without-pip .venv && '$(PYTHON)' -m pip --quiet \
			--python $(BIN)/python install --require-hashes -r requirements/build.txt; \
	fi || { rm -rf .venv; exit 1; }
