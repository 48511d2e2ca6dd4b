# Two commands matter: `make run` and `make test`. Both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PAGES := $(shell find frontend src/tavernkit/playground/edge/web/templates -type f 2>/dev/null)
export UV_PYTHON_DOWNLOADS := never
# Where it is set, every process of ours would compile all that it imports, each time it starts.
unexport PYTHONDONTWRITEBYTECODE

CORES := $(shell $(PYTHON) -c "import os; print(os.cpu_count() or 1)")
# Many tests wait for a browser, a lease or a server that starts: one worker more than there are cores.
WORKERS := $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

.DEFAULT_GOAL := help
.PHONY: help run test test-quick install check coverage mutation bench screenshots fuzz soak translations lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(STAMP) ## serve the application on this machine
	@$(BIN)/tavernkit serve

test: $(STAMP) ## run all tests
	@sh scripts/ensure-chromium
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-quick: $(STAMP) ## within a minute: the library, and the services of the application on SQLite
	TAVERNKIT_HYPOTHESIS=quick TAVERNKIT_FUZZ_INPUTS=50 $(BIN)/pytest --quick --quiet -n $(CORES) --dist worksteal

install: $(STAMP) ## create .venv with everything pinned in it

$(STAMP): requirements/bootstrap.txt requirements/dev.txt pyproject.toml hatch_build.py package.json package-lock.json $(PAGES)
	@sh scripts/create-venv "$(PYTHON)" "$(VENV)"
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/bootstrap.txt
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

check: $(STAMP) ## lint, types, layers, documentation
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python hatch_build.py check
	$(BIN)/lint-imports
	$(BIN)/pytest --quiet tests/docs

# Processes that the tests kill on purpose lose what they have measured.
coverage: $(STAMP) ## which share of each room all tests run, server processes included
	@sh scripts/ensure-chromium
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o $(VENV)/coverage.json
	$(BIN)/python scripts/coverage_by_room.py $(VENV)/coverage.json

mutation: $(STAMP) ## which share of small changes in five rooms their tests notice
	PYTHONPATH=. $(BIN)/python scripts/mutate.py

bench: $(STAMP) ## measure against baselines in the same run
	$(BIN)/tavernkit bench

screenshots: $(STAMP) ## pictures of every page in every language; those of the README into docs/screenshots
	@sh scripts/ensure-chromium --with-chinese-font
	PYTHONPATH=. $(BIN)/python scripts/screenshots.py

fuzz: $(STAMP) ## the nightly profile: 20,000 damaged files
	TAVERNKIT_FUZZ_INPUTS=20000 $(BIN)/pytest tests/characters/test_fuzz.py

# Four kinds of kills, 250 each: a turn, an import, a backup, a restore. Then what `make test` runs in a small size.
soak: $(STAMP) ## the nightly profile: 1,000 kills on each database, everything that `make test` runs in a small size
	TAVERNKIT_CRASHES=250 $(BIN)/pytest -o faulthandler_timeout=7200 -n 2 --dist worksteal tests/crash/test_soak.py \
		tests/crash/test_write_points.py tests/crash/test_write_points_apart.py tests/crash/test_pipeline_points.py tests/crash/test_migration_points.py tests/crash/test_sweep_points.py tests/crash/test_restore_points.py
	TAVERNKIT_EDGE_FULL=1 TAVERNKIT_IMPORTED_MESSAGES=100000 TAVERNKIT_LOCKED_SECONDS=60 TAVERNKIT_STARTS=20 $(BIN)/pytest -o faulthandler_timeout=7200 \
		tests/playground/edge tests/playground/overload tests/playground/starting tests/playground/test_locked_database.py \
		tests/browser/test_languages.py tests/browser/test_pipeline_profiles.py
	TAVERNKIT_LONG_CHAT_BYTES=104857600 $(BIN)/pytest -o faulthandler_timeout=7200 tests/playground/migration/test_export_round_trip.py
	TAVERNKIT_LONG_CHAT_BYTES=209715200 $(BIN)/pytest -o faulthandler_timeout=7200 tests/playground/migration/test_long_chats.py
	TAVERNKIT_EVERY_DATABASE=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile -k postgresql tests/playground
	TAVERNKIT_HYPOTHESIS=tenfold $(BIN)/pytest -o faulthandler_timeout=7200 -n 2 --dist worksteal -m hypothesis

translations: $(STAMP) ## collect the sentences of the interface into the catalogues
	$(BIN)/python scripts/translations.py

lock: $(STAMP) ## choose new versions and write their hashes
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links pyproject.toml --extra playground --extra memory --group dev --output-file requirements/dev.txt
	grep -A 100 '^uv==' requirements/dev.txt > requirements/bootstrap.txt

clean: ## remove what was built
	rm -rf $(VENV) dist node_modules src/tavernkit/playground/edge/web/static \
		src/tavernkit/prompt/tokens/vocabulary/*.tiktoken src/tavernkit/prompt/tokens/vocabulary/LICENSE \
		src/tavernkit/artifacts/liquid/liquidjs/liquid.node.js src/tavernkit/artifacts/liquid/liquidjs/LICENSE \
		src/tavernkit/sillytavern/text_completion/handlebarsjs/handlebars.min.js src/tavernkit/sillytavern/text_completion/handlebarsjs/LICENSE
