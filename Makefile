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
PROBES = handshake keepalive pool tls dns request nagle datagram unix buffers backlog states

LAYERS = base stat conf net link run report
BIN = $(BUILD)/bin
OBJ = $(BUILD)/obj
libs = $(foreach layer,$(1),$(OBJ)/$(layer).a)
objects = $(patsubst %.c,$(OBJ)/%.o,$(sort $(wildcard $(1))))

STATIC = $(BIN)/rttlink $(PROBES:%=$(BIN)/probe-%)
PROGRAMS = $(BIN)/rttmatrix $(STATIC)
UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
CONFORMANCE = $(patsubst tests/conformance/%.c,$(BUILD)/conformance/%,$(wildcard tests/conformance/*.c))
BENCHES = $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))

# llhttp, which Node.js parses HTTP with: C sources in Debian 12 (node-llhttp), a library from
# Debian 13 on (libllhttp-dev).
LLHTTP = /usr/share/llhttp
LLHTTP_LIBRARY := $(if $(wildcard $(LLHTTP)/llhttp.c),,$(shell $(CC) -print-file-name=libllhttp.a))
LLHTTP_INCLUDE = $(if $(LLHTTP_LIBRARY),/usr/include,/usr/share/include/llhttp)
LLHTTP_OBJECTS = $(or $(LLHTTP_LIBRARY),$(patsubst %,$(OBJ)/llhttp/%.o,llhttp api http))

.DEFAULT_GOAL = all
# Which images are ours: see docker/build-images.
SOURCES_DIGEST = $(shell docker/sources-digest)

.PHONY: all static install images reproduce help matrix test test-netem conformance lint format sanitize bench fuzz clean
.PHONY: conformance-programs
# make V=1 shows the commands.
say = $(if $(V),,@echo '  $(1)';)
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) ## build everything into build/bin

static: $(STATIC) ## the probes and rttlink, statically linked: the same bytes wherever they are built

# rttmatrix itself runs from here: it needs matrices, profiles and the probes beside it.
PREFIX ?= /usr/local
install: $(BIN)/rttlink ## rttlink and its man page into PREFIX (/usr/local), below DESTDIR
	install -D -m 755 $(BIN)/rttlink '$(DESTDIR)$(PREFIX)/bin/rttlink'
	install -D -m 644 src/cmd/rttlink.1 '$(DESTDIR)$(PREFIX)/share/man/man1/rttlink.1'

images: ## the images of the docker runtime, with DOCKER=docker or podman
	docker/build-images

reproduce: ## prove it: build twice, in different folders and environments, and compare
	CC='$(CC)' OPT='$(OPT)' ci/reproduce

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo 'Variables of make matrix: MATRIX=FILE RUNTIME=auto|docker|netns|host LINK=auto|netem|tun ARGS="..."'

MATRIX ?= matrix/default.yaml
matrix: all ## measure: run matrix/default.yaml (or MATRIX=FILE) and print the summary
	@$(if $(filter netns host,$(RUNTIME)),,docker/build-images $(if $(filter docker,$(RUNTIME)),,--optional))
	$(BIN)/rttmatrix run $(MATRIX) $(if $(RUNTIME),--runtime $(RUNTIME)) $(if $(LINK),--link $(LINK)) $(ARGS)

test: all unit-programs fuzz-programs conformance-programs ## every test; the last line counts them
	tests/run $(BUILD)

test-netem: all ## the netem backend and the runner above it, on a real netem (if need be in User-Mode Linux)
	tests/run $(BUILD) netem netem_run

lint: ## format, include arrows, static analysis, shell scripts
	ci/lint

format: ## rewrite the C sources as .clang-format says
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

sanitize: ## unit tests and fuzz corpus under ASan and UBSan
	$(MAKE) BUILD=$(BUILD)/sanitize OPT='-O1 -g -fno-omit-frame-pointer' \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all' unit-programs fuzz-programs
	tests/run --unit-only $(BUILD)/sanitize

bench: all bench-programs ## what we claim about speed and accuracy, side by side (BENCH='link tls': those)
	tests/bench/run $(BUILD) $(BENCH)

conformance: all conformance-programs ## tun and netem side by side, judged, as one table (QUICK=1: a few rows)
	tests/conformance/run $(BUILD) $(if $(QUICK),--quick)

FUZZ ?= matrix
FUZZ_SECONDS ?= 60
fuzz: $(LLHTTP_OBJECTS) ## fuzz a reader, FUZZ=matrix|profile|http|dns|tls, for FUZZ_SECONDS (clang, libFuzzer)
	@mkdir -p $(BUILD)/fuzz-corpus/$(FUZZ)
	clang -std=c11 -O1 -g $(CPPFLAGS) -isystem $(LLHTTP_INCLUDE) -fsanitize=fuzzer,address,undefined \
		-o $(BUILD)/libfuzzer tests/fuzz/fuzz_$(FUZZ).c $(wildcard $(patsubst %,src/%/*.c,base conf stat net link run)) \
		$(filter-out $(PROBES:%=src/probe/%.c),$(wildcard src/probe/*.c)) $(LLHTTP_OBJECTS) \
		-lcares -lyaml -ljansson -lssl -lcrypto -lm
	$(BUILD)/libfuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=65536 \
		$(BUILD)/fuzz-corpus/$(FUZZ) tests/fuzz/corpus

clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: unit-programs fuzz-programs bench-programs
unit-programs: $(UNIT_TESTS)
fuzz-programs: $(FUZZERS)
bench-programs: $(BENCHES)
conformance-programs: $(CONFORMANCE)

$(OBJ)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# It looks for images made from the same sources as itself.
$(OBJ)/src/run/images.o: CPPFLAGS += -DSOURCES_DIGEST='"$(SOURCES_DIGEST)"'
$(OBJ)/src/run/images.o: docker/Dockerfile docker/sources-digest $(wildcard src/*/*.[ch])

$(OBJ)/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(call say,CC $<)$(CC) -O2 -I$(LLHTTP_INCLUDE) $(SAME_BYTES) -c -o $@ $<

define layer_rule
$(OBJ)/$(1).a: $$(call objects,src/$(1)/*.c)
	@rm -f $$@
	$$(call say,AR $$@)ar rcsD $$@ $$^
endef
$(foreach layer,$(LAYERS),$(eval $(call layer_rule,$(layer))))

# The shared half of the probes: everything in src/probe that is not a probe. An archive, so that
# each probe gets only what it uses of it.
PROBE_COMMON = $(OBJ)/probe.a
$(PROBE_COMMON): $(filter-out $(PROBES:%=$(OBJ)/src/probe/%.o),$(call objects,src/probe/*.c))
	@rm -f $@
	$(call say,AR $@)ar rcsD $@ $^

$(OBJ)/src/probe/%.o: CPPFLAGS += -isystem $(LLHTTP_INCLUDE)

$(BIN)/probe-%: $(OBJ)/src/probe/%.o $(PROBE_COMMON) $(call libs,net stat base) $(LLHTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ $(PROBE_LIBRARIES) -lm

# What a probe links to besides, so that the others stay small. libcrypto.a brings zlib and zstd on
# some systems and not on others: pkg-config knows. Of c-ares none of the parts that ask glibc's
# resolver is used.
OPENSSL_STATIC := $(or $(shell pkg-config --static --libs libssl 2>/dev/null),-lssl -lcrypto)
$(BIN)/probe-tls: PROBE_LIBRARIES = $(OPENSSL_STATIC)
$(BIN)/probe-dns: PROBE_LIBRARIES = -lcares
$(BIN)/probe-request: PROBE_LIBRARIES = -lcares $(OPENSSL_STATIC)

$(BIN)/rttlink: $(call objects,src/cmd/rttlink*.c) $(call libs,link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ -lyaml -lm

$(BIN)/rttmatrix: $(OBJ)/src/cmd/rttmatrix.o $(call libs,run report link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lyaml -ljansson -lcrypto -lm

$(BUILD)/tests/%: $(OBJ)/tests/unit/%.o $(PROBE_COMMON) $(call libs,run report link conf net stat base) $(LLHTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lcunit -lcares -lyaml -ljansson -lssl -lcrypto -lm

$(BUILD)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(PROBE_COMMON) $(call libs,run report link conf net stat base) $(LLHTTP_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -o $@ $^ -lyaml -ljansson -lssl -lcrypto -lm

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(call libs,net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ $(BENCH_LIBRARIES) -lm
$(BUILD)/bench/bare_tls: BENCH_LIBRARIES = $(OPENSSL_STATIC)

$(BUILD)/conformance/%: $(OBJ)/tests/conformance/%.o $(call libs,link conf net stat base)
	@mkdir -p $(@D)
	$(call say,LD $@)$(CC) $(LDFLAGS) -static -o $@ $^ -lyaml -lm

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
