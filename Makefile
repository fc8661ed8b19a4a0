# make demo   environment, package, and the demo: a sentiment Tree-LSTM, trained in front of you
# make test   lint, types and the whole test suite
# make clean  remove the environment and all caches
#
# Both need Python 3.11 or newer, pip and make, and build their own .venv, which is used again while
# pyproject.toml stays as it is. Another Python: make demo PYTHON=/path/to/python3.12
# Trees of your own: make demo TREES="'((not good) film)' '(very bad)'"

SHELL := /bin/sh
PY    := .venv/bin/python
TREES ?=

# What the caller's shell says about other environments must not leak into this one.
unexport PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER

.DELETE_ON_ERROR:
.PHONY: demo test lint types clean env

demo: .venv/.installed
	$(PY) -m arrows demo $(TREES)

test: .venv/.installed-test lint types
	$(PY) -m pytest -n 2

lint: .venv/.installed-test
	$(PY) -m ruff check --output-format concise .
	$(PY) -m ruff format --check .

types: .venv/.installed-test
	$(PY) -m mypy --strict arrows

env: .venv/.installed-test

.venv/.installed: pyproject.toml | .venv/bin/python
	sh .ci/install .
	touch $@

.venv/.installed-test: pyproject.toml | .venv/bin/python
	sh .ci/install '.[test]'
	touch .venv/.installed $@

.venv/bin/python:
	PYTHON='$(PYTHON)' sh .ci/make-venv

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
