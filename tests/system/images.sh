#!/usr/bin/env bash
# The images of the docker runtime: what is in them, what they say of themselves, when they are built.
. "$(dirname "$0")/lib.sh"
DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
export DOCKER
unset BASE V
need "$DOCKER" jq tar readelf setsid
if ! timeout 20 "$DOCKER" version >"$tmp/out" 2>&1; then
	skip images "$DOCKER does not answer: $(tail -n 1 "$tmp/out")"
	exit 0
fi

copy=$tmp/copy
clean_up() {
	"$DOCKER" images -q --filter "label=rttmatrix.checkout=$copy" | sort -u |
		xargs -r "$DOCKER" rmi -f >/dev/null 2>&1
	rm -rf "$tmp"
}
trap clean_up EXIT

# ---- built once ----

timeout 600 "$TOP/docker/build-images" >"$tmp/out" 2>"$tmp/err"
status=$?
if [ "$status" -eq 4 ]; then
	skip images "$(tail -n 1 "$tmp/err")"
	exit 0
fi
equal 'build-images' "$status $(grep -cE '^images are (built|up to date) ' "$tmp/out")" '0 1'
[ "$status" -eq 0 ] || { tail -n 5 "$tmp/err"; exit 0; }
# A busy machine takes longer: at most three times.
for _ in 1 2 3; do
	began=${EPOCHREALTIME/[.,]/}
	output=$(timeout 20 "$TOP/docker/build-images" 2>&1)
	took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
	[ "$took" -gt 500 ] || break
done
digest=$("$TOP/docker/sources-digest")
equal 'the second time: up to date' "$output" "images are up to date ($digest)"
between 'which takes ms' "$took" 0 500
probes=rttmatrix-probes:$digest link=rttmatrix-link:$digest
equal '--print' "$(DOCKER=none "$TOP/docker/build-images" --print)" "$probes
$link"
"$TOP/docker/build-images" --nonsense 2>"$tmp/err"
equal 'a bad argument: 2, and the usage' "$? $(grep -c '^usage: docker/build-images' "$tmp/err")" '2 1'
output=$(DOCKER=no-such-engine "$TOP/docker/build-images" 2>&1)
equal 'no engine: 4, and says so' "$? $(grep -c 'no no-such-engine here' <<<"$output")" '4 1'

# ---- what is in them ----

# unpack IMAGE FOLDER: its files but those that the engine puts into every container
unpack() {
	local id
	id=$("$DOCKER" create --label rttmatrix.run=test --network none "$1" /none) || return 1
	mkdir -p "$2"
	"$DOCKER" export "$id" | tar -x -C "$2" --exclude=.dockerenv --exclude=dev --exclude=etc \
		--exclude=proc --exclude=sys --exclude=run
	"$DOCKER" rm -f "$id" >/dev/null
}

# run [OPTION]... IMAGE ARGUMENT...
run() {
	timeout 30 "$DOCKER" run --rm --label rttmatrix.run=test --network none \
		--cap-drop ALL "$@"
}

# contained IMAGE PROGRAM ARGUMENT...: as the runner runs a probe
contained() {
	run --read-only --security-opt no-new-privileges --user 65534:65534 \
		--entrypoint "$2" "$1" "${@:3}"
}

label() {
	"$DOCKER" image inspect --format "{{index .Config.Labels \"$2\"}}" "$1"
}

unpack "$probes" "$tmp/probes"
unpack "$link" "$tmp/link"
between "$probes: bytes" "$("$DOCKER" image inspect --format '{{.Size}}' "$probes")" 1 40000000
names=$(cd "$BIN" && printf '%s\n' probe-*)
equal 'the probes and nothing else' "$(cd "$tmp/probes" && find . -mindepth 1 -printf '%P\n' | sort)" "$names"
for name in $names; do
	equal "$name describes itself as build's does" "$(contained "$probes" "/$name" describe 2>&1)" \
		"$("$BIN/$name" describe)"
	equal "$name is static" "$(readelf -lW "$tmp/probes/$name" | grep -cE 'INTERP|DYNAMIC')" 0
done
equal 'tc' "$(contained "$link" tc -V 2>&1 | grep -c '^tc utility, iproute2')" 1
equal 'tc lists queues' "$(contained "$link" tc -j qdisc show 2>&1 | jq -r '.[0].dev')" lo
equal 'ip' "$(contained "$link" ip -V 2>&1 | grep -c '^ip utility, iproute2')" 1
equal 'ip lists links' "$(contained "$link" ip -j link 2>&1 | jq -r '.[0].ifname')" lo
equal 'rttlink is the entry point' "$(run "$link" --help 2>&1)" \
	"$("$BIN/rttlink" --help)"
# tc reads the table of a distribution before it asks the kernel for netem.
output=$(run --cap-add NET_ADMIN --entrypoint tc "$link" \
	qdisc add dev lo root netem delay 10ms 1ms distribution normal 2>&1)
equal "tc's distributions" "$(grep -c 'No distribution data' <<<"$output")" 0
equal 'no shell in them' "$(find "$tmp/probes" "$tmp/link" -name '*sh' -o -name busybox)" ''

# ---- what they say of themselves ----

equal 'rttmatrix.images' "$(label "$probes" rttmatrix.images) $(label "$link" rttmatrix.images)" '1 1'
check 'rttmatrix.base: name and id' grep -qE '^[^ ]+ (sha256:)?[0-9a-f]{64}$' <(label "$probes" rttmatrix.base)
for image in probes link; do
	label "rttmatrix-$image:$digest" rttmatrix.facts >"$tmp/$image.json"
	equal "$image: rttmatrix.facts is one line" "$(wc -l <"$tmp/$image.json")" 1
	equal "$image: digests of every binary" \
		"$(jq -r '.binaries | to_entries[] | "\(.key) \(.value)"' "$tmp/$image.json" | sort)" \
		"$(find "$tmp/$image" -type f ! -name '*.dist' -exec sha256sum {} + |
			sed 's,^\([^ ]*\) .*/,\1 ,' | awk '{ print $2, $1 }' | sort)"
done
equal 'OpenSSL is 3.5' "$(jq -r '.libraries."libssl-dev"' "$tmp/probes.json" | grep -c '^3\.5\.')" 1
equal 'c-ares is 1.34' "$(jq -r '.libraries."libc-ares-dev"' "$tmp/probes.json" | grep -c '^1\.34\.')" 1
equal 'the compiler is named' "$(jq -r .compiler "$tmp/probes.json" | grep -c '^gcc .*[0-9]')" 1

# ---- another checkout ----

mkdir -p "$copy"
(cd "$TOP" && cp --parents -r Makefile .dockerignore docker src "$copy")
touch "$copy/src/base/err.c"
equal 'the same sources elsewhere: the same digest' "$("$copy/docker/sources-digest")" "$digest"
equal 'from another folder, in another locale' "$(cd / && LC_ALL=de_DE.UTF-8 "$copy/docker/sources-digest")" "$digest"
equal 'and nothing to build' "$("$copy/docker/build-images" 2>&1)" "images are up to date ($digest)"
mv "$copy/src/base/nearest.c" "$copy/src/base/moved.c"
check 'another name, another digest' [ "$("$copy/docker/sources-digest")" != "$digest" ]
mv "$copy/src/base/moved.c" "$copy/src/base/nearest.c"

# tags CHECKOUT: the images that are labelled with it
tags() {
	"$DOCKER" images --filter "label=rttmatrix.checkout=$1" --format '{{.Tag}}' |
		grep -v '^<none>$' | sort -u
}

for change in first second; do
	echo "/* $change */" >>"$copy/src/base/err.c"
	changed=$("$copy/docker/sources-digest")
	timeout 300 "$copy/docker/build-images" >"$tmp/out" 2>"$tmp/err"
	equal "$change change: built" "$? $(grep -c "^images are built ($changed)" "$tmp/out")" '0 1'
	equal "$change change: only its images are left" "$(tags "$copy")" "$changed"
	equal 'the same bytes come out of it' \
		"$(label "rttmatrix-probes:$changed" rttmatrix.facts)" "$(cat "$tmp/probes.json")"
done
check "the images of $digest are still there" "$DOCKER" image inspect "$probes" "$link"
echo 'int broken(' >>"$copy/src/base/err.c"
timeout 300 "$copy/docker/build-images" >"$tmp/out" 2>"$tmp/err"
equal 'a build that fails: 1, and the reason' "$? $(grep -c 'src/base/err.c:.*error' "$tmp/err")" '1 1'
equal 'the images of before stay' "$(tags "$copy")" "$changed"

# building: the containers of its builds, which carry the labels of their image
building() {
	"$DOCKER" ps -aq --filter "label=rttmatrix.checkout=$copy" | grep .
}

nothing_builds() {
	! building
}

check 'it leaves no container' nothing_builds
cp "$TOP/src/base/err.c" "$copy/src/base/err.c"
echo '/* third */' >>"$copy/src/base/err.c"
# A shell has its children in the background ignore SIGINT.
mkdir "$tmp/here"
TMPDIR=$tmp/here setsid env --default-signal=INT "$copy/docker/build-images" >"$tmp/out" 2>"$tmp/err" &
pid=$!
check 'a build has begun' until_true 30 building
kill -INT -- "-$pid"
wait "$pid"
equal 'Ctrl-C: 130' "$?" 130
check 'Ctrl-C leaves no container' until_true 10 nothing_builds
equal 'and no file' "$(ls "$tmp/here")" ''
