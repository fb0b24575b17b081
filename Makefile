# The only build file. `make help` lists the targets.

CC ?= cc
BUILD ?= build
OPT ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wpedantic -Wdate-time $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -Isrc
# Neither the folder nor the time goes into an object: `make reproduce` compares two builds. gcc
# takes the folder's name from PWD, which may be a symbolic link.
SAME_BYTES = -ffile-prefix-map='$(CURDIR)=.'
export PWD = $(CURDIR)
CFLAGS = -std=c11 $(OPT) $(WARNINGS) -fno-strict-overflow $(SAME_BYTES) $(SANITIZE)
LDFLAGS += $(SANITIZE)

# A new probe: its file src/probe/NAME.c and its name here.
PROBES = handshake keepalive

LAYERS = base stat conf net link run report
BIN = $(BUILD)/bin
OBJ = $(BUILD)/obj
libs = $(foreach layer,$(1),$(OBJ)/$(layer).a)
objects = $(patsubst %.c,$(OBJ)/%.o,$(sort $(wildcard $(1))))

STATIC = $(BIN)/rttlink $(PROBES:%=$(BIN)/probe-%)
PROGRAMS = $(BIN)/rttmatrix $(STATIC)
UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCHES = $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))

# llhttp comes as C sources: Debian's node-llhttp, which Node.js parses HTTP with.
LLHTTP = /usr/share/llhttp
LLHTTP_INCLUDE = /usr/share/include/llhttp
LLHTTP_OBJECTS = $(OBJ)/llhttp/llhttp.o $(OBJ)/llhttp/api.o $(OBJ)/llhttp/http.o

.DEFAULT_GOAL = all
.PHONY: all static reproduce help matrix test lint format sanitize bench fuzz clean
# make V=1 shows the commands.
say = $(if $(V),,@echo '  $(1)';)
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) ## build everything into build/bin

static: $(STATIC) ## the probes and rttlink, statically linked: the same bytes wherever they are built

reproduce: ## prove it: build twice, in different folders and environments, and compare
	CC='$(CC)' OPT='$(OPT)' ci/reproduce

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo 'Variables of make matrix: MATRIX=FILE RUNTIME=auto|netns|host LINK=auto|netem|tun ARGS="..."'

MATRIX ?= matrix/default.yaml
matrix: all ## measure: run matrix/default.yaml (or MATRIX=FILE) and print the summary
	$(BIN)/rttmatrix run $(MATRIX) $(if $(RUNTIME),--runtime $(RUNTIME)) $(if $(LINK),--link $(LINK)) $(ARGS)

test: all unit-programs fuzz-programs ## every test; the last line counts them
	tests/run $(BUILD)

lint: ## format, include arrows, static analysis, shell scripts
	ci/lint

format: ## rewrite the C sources as .clang-format says
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

sanitize: ## unit tests and fuzz corpus under ASan and UBSan
	$(MAKE) BUILD=$(BUILD)/sanitize OPT='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' unit-programs fuzz-programs
	tests/run --unit-only $(BUILD)/sanitize

bench: all bench-programs ## what we claim about speed and accuracy, measured side by side
	tests/bench/run $(BUILD)

FUZZ_SECONDS ?= 60
fuzz: ## fuzz the readers of matrices and profiles for FUZZ_SECONDS (clang, libFuzzer)
	@mkdir -p $(BUILD)/fuzz-corpus
	clang -std=c11 -O1 -g $(CPPFLAGS) -fsanitize=fuzzer,address,undefined -o $(BUILD)/libfuzzer \
		tests/fuzz/fuzz_matrix.c src/base/*.c src/conf/*.c src/stat/*.c src/net/*.c src/link/*.c \
		src/run/*.c -lyaml -ljansson -lcrypto -lm
	$(BUILD)/libfuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 $(BUILD)/fuzz-corpus tests/fuzz/corpus

clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: unit-programs fuzz-programs bench-programs
unit-programs: $(UNIT_TESTS)
fuzz-programs: $(FUZZERS)
bench-programs: $(BENCHES)

$(OBJ)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) -O2 -I$(LLHTTP_INCLUDE) $(SAME_BYTES) -c -o $@ $<

define layer_rule
$(OBJ)/$(1).a: $$(call objects,src/$(1)/*.c)
	@rm -f $$@
	$$(call say,AR $$@)ar rcsD $$@ $$^
endef
$(foreach layer,$(LAYERS),$(eval $(call layer_rule,$(layer))))

# The shared half of the probes: everything in src/probe that is not a probe.
PROBE_COMMON = $(filter-out $(PROBES:%=$(OBJ)/src/probe/%.o),$(call objects,src/probe/*.c))
$(OBJ)/src/probe/%.o: CPPFLAGS += -isystem $(LLHTTP_INCLUDE)

$(BIN)/probe-%: $(OBJ)/src/probe/%.o $(PROBE_COMMON) $(call libs,net stat base) $(LLHTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ -lm

$(BIN)/rttlink: $(OBJ)/src/cmd/rttlink.o $(call libs,link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ -lyaml -lm

$(BIN)/rttmatrix: $(OBJ)/src/cmd/rttmatrix.o $(call libs,run report link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lyaml -ljansson -lcrypto -lm

$(BUILD)/tests/%: $(OBJ)/tests/unit/%.o $(PROBE_COMMON) $(call libs,run report link conf net stat base) $(LLHTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lcunit -lyaml -ljansson -lcrypto -lm

$(BUILD)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(call libs,run report link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lyaml -ljansson -lcrypto -lm

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(call libs,net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ -lm

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
