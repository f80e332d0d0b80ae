# make study   measure the default systems that can run      make test        the tests, in a quarter of an hour
# make doctor  this machine and what can run on it           make test-fast   the everyday loop
# make bench   what core and runtime cost                    make test-ci     what a submission needs besides `make test`
# make setup   what the others do first                       make test-deep   all other tests, for hours
# make docs    the site, into build/site                      make models      the models of the lock-free parts
# make docs-tables   the tables of pages, from docs/results and from what commands print
# make figures STUDY=NAME   a study of studies/papers, and its figures
# make bench-metg   how often METG's intervals hold the truth, and what a METG costs (two hours)
# make format  C and C++ as .clang-format says

SHELL := /bin/bash
.SHELLFLAGS := -pc  # without BASH_ENV, CDPATH and the functions of the user's shell
unexport BASH_ENV CDPATH GREP_OPTIONS PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS  # meant for other programs
.NOTPARALLEL:  # set-up once, and what is measured alone; ninja compiles in parallel
export CXX  # g++ unless somebody says otherwise: pip's builds and the others share what ccache keeps by the compiler's name
taskgrain := .venv/bin/taskgrain
.PHONY: study figures doctor setup setup-first setup-dev test test-ci test-deep test-fast test-cpp test-python test-drivers test-schedules test-tsan test-asan test-aarch64 models lint format docs docs-tables bench bench-metg clean
.DEFAULT_GOAL := study

# Nothing works without what is built, which is not in .venv, nor after the checkout was moved.
lost := $(shell [[ -e build/installed/taskgrain && -e .venv/bin/python && "$$(cat .venv/.place)" -ef . ]] 2>/dev/null || echo lost)

# After an update, the systems that were built anew are measured beside their earlier cells; STUDYFLAGS=--restart leaves the earlier
# ones out of the report. Where the study itself has changed, give another folder: make study OUTPUT=results/default-2.
# A study whose budget is used up goes on with a larger one: make study BUDGET=6m.
STUDYFLAGS := --keep-both
BUDGET :=
OUTPUT := results/default
begun := $(shell date +%s)
clock = $$(printf '%d:%02d' $$(($(1) / 60)) $$(($(1) % 60)))
# In a new checkout, what the study does not run is built after it.
study: $(if $(lost),setup-first,setup)
	@ready=$$(date +%s) && \
	$(taskgrain) study studies/default.toml --output '$(OUTPUT)' $(STUDYFLAGS) $(if $(BUDGET),--budget '$(BUDGET)') && $(taskgrain) report '$(OUTPUT)' && \
	measured=$$(date +%s) && $(MAKE) --no-print-directory --quiet setup && \
	echo "set up in $(call clock,(ready - $(begun))), measured in $(call clock,(measured - ready))$(if $(lost),; the other systems built in $(call clock,($$(date +%s) - measured)))"

# A study of studies/papers and all its plots: make figures STUDY=task-bench-figure-10-dependences
figures: setup
	$(taskgrain) study studies/papers/$(STUDY).toml --output results/$(STUDY) $(STUDYFLAGS)
	$(taskgrain) report results/$(STUDY) --figures results/$(STUDY)/figures

ifneq ($(filter figures,$(MAKECMDGOALS)),)
ifeq ($(wildcard studies/papers/$(STUDY).toml),)
$(error STUDY=$(STUDY): give the name of a file in studies/papers, without .toml)
endif
endif

doctor: setup
	$(taskgrain) doctor

.PHONY: screenshots  # the pictures of docs/reference/report.md
screenshots: setup-dev
	.venv/bin/python tools/screenshots.py

# The groups of systems to set up and to test: `make setup GROUPS=ray,spark`, `make test GROUPS=all`.
GROUPS := default

# The installation is editable: Python modules, and the system.toml and Python files of systems, are used where they lie. So set-up
# runs again only when what it reads has changed, and the build only when something else of include/, src/ or systems/ has.
setup: .venv/.built.$(GROUPS)
setup-first: .venv/.installed.$(GROUPS)
	@tools/build --first
setup-dev: .venv/.built-dev.$(GROUPS)

# The tables [setup]; the files of systems that are used where they lie, and where users' systems are. A file with the checksum
# of these in its name is as old as they are.
sum = $(shell { $(1); } | sort | cksum | cut -d' ' -f1)
needs := .venv/.needs.$(call sum,awk '/^\[/ { inside = /^\[setup/ } inside' systems/*/system.toml)
names := .venv/.names.$(call sum,find systems -name '*.py' -o -name system.toml; echo "$(CMAKE_PREFIX_PATH)")
$(needs) $(names):
	@mkdir -p .venv && rm -f $(basename $@).* && touch $@

# Who has other groups has the default one, and who has set up for development has set up.
touch = touch $(sort $@ $(basename $@).default $(subst -dev.,.,$@ $(basename $@).default))

.PHONY: lost
.venv/.installed.$(GROUPS) .venv/.installed-dev.$(GROUPS): .venv/.installed%: \
  pyproject.toml tools/setup tools/requirements.py tools/build_once.sh $(wildcard systems/*/setup systems/*/Cargo.toml src/rust/*) $(needs) $(lost)
	@bash -p tools/setup $(if $(filter -dev.%,$*),--dev) --groups $(lastword $(subst ., ,$*))
	@$(touch)

built := $(shell find CMakeLists.txt cmake include src systems tools/build -type f -not -name '*.py' -not -name system.toml)
.venv/.built.$(GROUPS) .venv/.built-dev.$(GROUPS): .venv/.built%: .venv/.installed% $(built) $(names)
	@tools/build
	@$(touch)

# The schema of studies, for editors; after the build, whose names of patterns and kernels it has.
schema := studies/study.schema.json
setup setup-dev: $(schema)
$(schema): $(built) $(wildcard python/taskgrain/study/*.py python/taskgrain/words/*.py)
	@$(taskgrain) study --schema >.venv/schema.draft && mv .venv/schema.draft $@

# The rings of tests: tools/rings.py says what each runs.
test:
	@tools/rings.py test --groups '$(GROUPS)'
test-ci:
	@tools/rings.py submission --groups '$(GROUPS)'
test-deep:
	@tools/rings.py deep --groups all
test-fast: lint test-cpp
	$(MAKE) test-python test-drivers RING=fast

# Whose tests the targets below run: those of `make test`, unless RING says another ring; `groups`: those of them that
# need a group of systems; `examples`: those of them that draw examples, with all of these, and others each time.
RING := test
marked.fast := not (slow or submission or deep)
marked.test := not (submission or deep)
marked.submission := submission
marked.deep := deep
marked.groups := of_a_group and not (submission or deep)
marked.examples := hypothesis and not (submission or deep)
other.examples := --hypothesis-profile other
other.deep := --timeout 1800
ifeq ($(marked.$(RING)),)
$(error RING=$(RING): '$(RING)' is not allowed; allowed: fast, test, submission, deep, groups, examples)
endif
pytest := .venv/bin/pytest -rs
none_is_fine := || [ $$? = 5 ]  # which is what pytest ends with if no test is chosen

test-python: export TASKGRAIN_TEST_ROUNDS = $(if $(filter fast test,$(RING)),0.2,1)
test-python: setup-dev
	$(pytest) $(other.$(RING)) -m "$(marked.$(RING))" --ignore tests/python/systems --numprocesses $(if $(filter submission,$(RING)),3,2) --dist loadfile --no-loadscope-reorder $(if $(filter groups,$(RING)),$(none_is_fine))

# One driver at a time, because each uses all cores; but two of those that mostly wait.
test-drivers: setup-dev
	$(pytest) -m "not waits and $(marked.$(RING))" tests/python/systems $(none_is_fine)
	$(pytest) -m "waits and $(marked.$(RING))" --numprocesses 2 tests/python/systems $(none_is_fine)

lint: setup-dev
	.venv/bin/ruff check python templates tests bench tools
	.venv/bin/mypy python/taskgrain bench tools
	tools/check_rooms.py

# Build folders, flags, and which tests they run: CMakePresets.json.
test-cpp: preset = tests$(addprefix -,$(filter submission deep,$(RING)))
test-tsan test-asan: preset = $(@:test-%=%)$(addprefix -,$(filter deep,$(RING)))
test-cpp test-tsan test-asan: setup-dev
	cmake --preset $(preset) >/dev/null
	cmake --build --preset $(preset)
	ctest --preset $(preset)

test-schedules: deep = $(addprefix -,$(filter deep,$(RING)))
test-schedules: setup-dev
	cmake --preset tests$(deep) >/dev/null
	cmake --build --preset schedules$(deep)
	ctest --preset schedules$(deep)

# For 64-bit Arm, in qemu.
test-aarch64: setup-dev
	tools/test_aarch64

format: setup-dev
	git ls-files -z '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' | xargs -0 .venv/bin/clang-format -i

models: setup-dev
	models/check

docs-tables: setup-dev
	.venv/bin/python tools/filled_page.py

docs: setup-dev
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

bench: setup-dev
	bench/run

bench-metg: setup-dev
	.venv/bin/python bench/worlds.py
	.venv/bin/python bench/metg.py cost
	.venv/bin/python bench/metg.py disturb
	.venv/bin/python bench/metg.py same

clean:
	rm -rf build .venv
