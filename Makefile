# Every target sets up what it needs, in .venv: only Python 3.11+, git and make must be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CHECKED := client_shim pool_server proto transport src tests examples benchmarks scripts

.PHONY: demo test test-slow test-pythons conformance gpu-check check format generate bench clean

demo: $(VENV)/.runtime
	@echo "k-means on scikit-learn's digits, on the embedded mock pool:"
	@$(BIN)/cupool run examples/kmeans.py
	@echo
	@echo "the same script on NumPy:"
	@PYTHONPATH=tests/e2e/numpy_as_cupy $(BIN)/python examples/kmeans.py
	@echo
	@echo "Try next:"
	@echo "  $(BIN)/cupool run examples/fft_filter.py --out filtered.png   a picture"
	@echo "  $(BIN)/cupool run --mock 3 examples/three_gpus.py             three GPUs"
	@echo "  $(BIN)/cupool run --stats examples/pca.py                     what travelled, who waited"
	@echo "  $(BIN)/cupool broker   and   $(BIN)/cupool serve --mock 2     a pool of your own (README)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow --timeout 900

# The same suite under every supported Python that is installed.
test-pythons:
	@for version in 3.11 3.12 3.13; do \
	  if command -v python$$version >/dev/null; then \
	    $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	  else echo "python$$version is not installed: skipped"; fi; \
	done

# CuPy's own tests, a sample of them, on the mock: what fails must be expected to, and nothing else.
conformance: $(VENV)/.dev
	$(BIN)/python scripts/conformance.py

# On a machine with a GPU and CuPy in $(PYTHON): everything that needs a real GPU, in nine minutes.
gpu-check: $(VENV)-gpu/.ready
	$(VENV)-gpu/bin/python scripts/gpu_check.py

check: $(VENV)/.dev $(VENV)-proto/.ready
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/mypy -p cupool
	$(BIN)/lint-imports
	$(VENV)-proto/bin/python scripts/generate_proto.py --check

format: $(VENV)/.dev
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

generate: $(VENV)-proto/.ready
	$(VENV)-proto/bin/python scripts/generate_proto.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/overhead.py

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "cupool needs Python 3.11 or newer: make PYTHON=python3.12"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.runtime: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[server,examples]'
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

$(VENV)-gpu/.ready: pyproject.toml
	$(PYTHON) -m venv --system-site-packages $(VENV)-gpu
	$(VENV)-gpu/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-gpu/bin/python -m pip install --quiet --editable '.[server]'
	$(VENV)-gpu/bin/python -m pip install --quiet --group dev
	@touch $@

# The generator is old on purpose (see pyproject.toml) and would hold protobuf back in .venv.
$(VENV)-proto/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-proto
	$(VENV)-proto/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-proto/bin/python -m pip install --quiet --group proto
	@touch $@

clean:
	rm -rf .venv .venv-* build dist out src/*.egg-info
