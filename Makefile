# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test bench docs clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*##/ { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## install, and correct a letter with the shipped model
	@BTR=$(BIN)/btr examples/demo.sh

test: $(VENV)/.tested  ## install, check style and types, run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/pytest  # as many processes as cores, a thread each

bench: $(VENV)/.tested  ## measure speed and memory, side by side with the naive way
	$(BIN)/python benchmarks/m2.py
	$(BIN)/python benchmarks/gleu.py
	$(BIN)/python benchmarks/pll.py
	$(BIN)/python benchmarks/generate.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/correct.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/startup.py

docs: $(VENV)/.documented  ## serve the documentation site at http://127.0.0.1:8000
	$(BIN)/mkdocs serve --livereload

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "btr needs Python 3.11 or newer; name one with 'make PYTHON=/path/to/python3.12'." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 2; }

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[models]'
	@$(BIN)/btr fetch smollm2-135m || true  # a small language model; without a network, one line says that it is missing
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable '.[train,serve,docs,test]'
	@tests/helpers/browser.sh $(BIN)
	@tests/helpers/axe.sh
	@touch $@

$(VENV)/.documented: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt 'mkdocs<2' mkdocs-material mkdocstrings mkdocstrings-python ruff  # no torch; ruff breaks the lines of signatures
	@touch $@
