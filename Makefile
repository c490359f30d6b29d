# A thin front over CMake; everything it does can be done with cmake and ctest alone.
#   make solve   build the library and the example solver, and compare preconditioners on a system of real size
#   make test    build everything, run all tests
#   make fuzz    build the fuzzers with clang and sanitizers, and let them look for SECONDS in all
#   make bench   build the benchmarks and time the Matrix Market files; benchmarks/run.py runs the others
#   make docs    build the manual into build/docs/html: Sphinx from PyPI in a virtual environment of its own, doxygen
#   make deps    install the packages of Debian or Ubuntu that are missing; what needs them asks before it does
#   make format  format all sources
#   make clean   remove the build folder
# Variables: SECONDS (60), BUILD (folder), JOBS, GPU (auto, cuda, none), WERROR (ON, OFF), CMAKE_ARGS (passed to cmake);
# of `make solve` UNITY (ON, OFF): several sources in one compilation, SOLVE (folder) and SOLVE_ISAS (levels of x86-64
# with kernels of their own, none by default); of `make test` ISAS, these levels there (v3;v4).

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
GPU ?= auto
SECONDS ?= 60
WERROR ?= OFF
UNITY ?= ON
SOLVE ?= $(BUILD)/solve
SOLVE_ISAS ?=
ISAS ?= v3;v4
CMAKE_ARGS ?=

# ctest builds the users of the package with LC_MESSAGES set to nothing, which ccache takes for another locale.
export CCACHE_SLOPPINESS ?= locale
# Paths below are relative for it: another clone finds the same objects, from a build folder of the same depth.
export CCACHE_BASEDIR ?= $(CURDIR)

CONFIGURE = cmake -G Ninja -S . -DCMAKE_BUILD_TYPE=Release -DBLOCKJACOBI_GPU=$(GPU) -DBLOCKJACOBI_WERROR=$(WERROR) $(CMAKE_ARGS)

# Linear elasticity of a beam of random stiffness, 3 unknowns a node: 14 112 rows, 0.9 million entries.
SOLVE_MATRIX = $(SOLVE)/elasticity.mtx

.PHONY: solve test fuzz bench docs deps asked-deps format clean

# Without kernels for levels of x86-64, which take as long to compile as half of the rest, and several sources in one
# compilation.
solve: asked-deps
	$(CONFIGURE) -B $(SOLVE) -DBLOCKJACOBI_BUILD_TESTS=OFF -DBLOCKJACOBI_BUILD_BENCHMARKS=OFF \
	  "-DBLOCKJACOBI_HOST_ISAS=$(SOLVE_ISAS)" -DCMAKE_UNITY_BUILD=$(UNITY)
	cmake --build $(SOLVE) -j $(JOBS) --target blockjacobi-solve blockjacobi-generate
	$(SOLVE)/matrices/blockjacobi-generate elasticity $(SOLVE_MATRIX) --elements 96 6 6 --contrast 1000
	$(SOLVE)/examples/blockjacobi-solve $(SOLVE_MATRIX) --compare --max-seconds 15

# With all levels that are worth it, so that their kernels are tested.
test: asked-deps
	BLOCKJACOBI_HOST_ISAS="$(ISAS)" $(CONFIGURE) -B $(BUILD)/test
	cmake --build $(BUILD)/test -j $(JOBS)
	ctest --test-dir $(BUILD)/test -j $(JOBS) --output-on-failure

fuzz:
	@bash .ci/deps ci ask
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	python3 -B tests/fuzz/run.py build/fuzz --seconds $(SECONDS)

bench: asked-deps
	$(CONFIGURE) -B $(BUILD)/bench -DBLOCKJACOBI_BUILD_TESTS=OFF -DBLOCKJACOBI_BUILD_EXAMPLES=OFF
	cmake --build $(BUILD)/bench -j $(JOBS)
	cmake --build $(BUILD)/bench --target bench

docs:
	@bash .ci/deps docs ask
	mkdir -p $(BUILD)/docs
	python3 -m venv $(BUILD)/docs/venv
	$(BUILD)/docs/venv/bin/python -m pip install -q --disable-pip-version-check -r docs/requirements.txt
	BUILD=$(BUILD) doxygen docs/Doxyfile
	$(BUILD)/docs/venv/bin/python -B docs/plots.py --check
	BUILD=$(BUILD) $(BUILD)/docs/venv/bin/python -B -m sphinx -E -W --keep-going -q -b html docs $(BUILD)/docs/html

deps:
	@bash .ci/deps

asked-deps:
	@bash .ci/deps ask

format:
	@bash .ci/format.sh --fix

clean:
	rm -rf $(BUILD)
