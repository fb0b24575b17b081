#!/usr/bin/env bash
# The docker runtime against a real engine: what runs in it, what it may do, what remains of it.
. "$(dirname "$0")/lib.sh"
DOCKER=${RTTMATRIX_TEST_DOCKER:-docker}
export DOCKER
need "$DOCKER" jq
if ! timeout 20 "$DOCKER" version >"$tmp/out" 2>&1; then
	skip docker "$DOCKER does not answer: $(tail -n 1 "$tmp/out")"
	exit 0
fi
timeout 600 "$TOP/docker/build-images" >"$tmp/out" 2>"$tmp/err"
status=$?
if [ "$status" -eq 4 ]; then
	skip docker "$(tail -n 1 "$tmp/err")"
	exit 0
fi
equal 'build-images' "$status" 0
[ "$status" -eq 0 ] || exit 0
mapfile -t images < <("$TOP/docker/build-images" --print)
probes=${images[0]} link=${images[1]}

# engine ARGUMENT...: the real one, whatever DOCKER is at the moment
engine=$(command -v "$DOCKER")
engine() {
	timeout 30 "$engine" "$@"
}

# What this test makes itself; everything else is a runner's.
own=label=rttmatrix.test=$tmp
clean_up() {
	unset DOCKER_HOST
	for shim in $(pgrep -f "$tmp/engine/"); do # of our own engine, and what runs in them
		cat "/proc/$shim/task/$shim/children" && echo "$shim"
	done | xargs -r kill -9
	jobs -p | xargs -r kill -9
	awk -v folder="$tmp/engine/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | xargs -r umount -l
	engine ps -aq --filter "$own" | xargs -r "$engine" rm -f
	engine volume ls -q --filter "$own" | xargs -r "$engine" volume rm -f
	engine network ls -q --filter "$own" | xargs -r "$engine" network rm
	engine images -q --filter "$own" | sort -u | xargs -r "$engine" rmi -f
	rm -rf "$tmp"
} >/dev/null 2>&1
trap clean_up EXIT

# ---- matrices ----

mkdir "$tmp/netem"
printf 'schema: 1\nloopback: true\n' >"$tmp/netem/localhost.yaml"
cp "$TOP"/netem/wan50.yaml "$tmp/netem"
# Not 0.5 ms, which some machines can't have between containers.
printf 'schema: 1\nrtt: 5ms\n' >"$tmp/netem/lan.yaml"
# What is meant to be hit in the middle: so far that a busy machine does not matter.
printf 'schema: 1\nrtt: 200ms\n' >"$tmp/netem/far.yaml"

# matrix NAME PROFILES SAMPLES CELL-LINE...
matrix() {
	printf 'schema: 1\nname: %s\nrepeats: 1\nprofiles: %s\nsamples: %s\ncells:\n' "$1" "$2" "$3" \
		>"$tmp/$1.yaml"
	printf '  %s\n' "${@:4}" >>"$tmp/$1.yaml"
}

matrix small '[localhost, lan, wan50]' '{ localhost: 50, lan: 20, wan50: 4 }' \
	'- { probe: handshake, families: [4, 6] }'
matrix quick localhost 5 '- probe: handshake'
matrix long '[localhost, far]' '{ localhost: 20, far: 30 }' '- probe: keepalive'
# Four linked cells are under way together; one more follows.
matrix five '[localhost, far]' '{ localhost: 20, far: 75 }' \
	'- { probe: keepalive, vary: { size: [1b, 2b, 3b, 4b, 5b] }, profiles: [far] }' \
	'- { probe: handshake, profiles: [localhost] }'

# ---- runs ----

runners="" # the pids of all that were started
runner=""  # of the last one

# begin NAME ARGUMENT...: rttmatrix run in the background; its words go to NAME.out and NAME.err
begin() {
	: >"$tmp/$1.err"
	# Shells start background processes deaf to SIGINT.
	env --default-signal=INT "$BIN/rttmatrix" run "${@:2}" >"$tmp/$1.out" 2>"$tmp/$1.err" &
	runner=$!
	runners+=" $runner"
}

# begin_matrix NAME ARGUMENT...: of NAME.yaml, results in NAME; what is at localhost comes first
begin_matrix() {
	begin "$1" "$tmp/$1.yaml" --output "$tmp/$1" --jobs 4 "${@:2}"
}

# finish [PID]: wait for the runner, 60 s at most; its status
finish() {
	local pid=${1:-$runner}
	timeout 60 tail -s 0.02 --pid="$pid" -f /dev/null || kill -9 "$pid"
	wait "$pid"
} 2>/dev/null

# kill_runner [PID]...: and these before it
kill_runner() {
	kill -9 "$@" "$runner"
	finish
} 2>/dev/null

run_matrix() {
	begin_matrix "$@"
	finish
}

# leftovers: the names of all that carries the mark of a runner of ours
leftovers() {
	local list
	for list in 'ps --all {{.Names}}' 'volume ls {{.Name}}' 'network ls {{.Name}}'; do
		# shellcheck disable=SC2086  # two words
		engine ${list% *} --filter label=rttmatrix.run \
			--format "{{.Label \"rttmatrix.run\"}} ${list##* }" || echo ": no ${list% *}"
	done | awk -v runners="$runners" -F '[: ]' 'index(runners " ", " " $1 " ") { print $NF }'
}

none_left() {
	local left
	left=$(leftovers)
	printf '%s' "$left"
	[ -z "$left" ]
}

# left_nothing NAME: soon
left_nothing() {
	until_true 10 none_left
	check "$1: nothing left" none_left
}

# containers ROLE: the running ones of the last runner, by name
containers() {
	engine ps --filter "name=rttmatrix-$runner-[0-9]+-[0-9]+-$1\$" --format '{{.Names}}' | sort
}

# running ROLE COUNT
running() {
	[ "$(containers "$1" | wc -l)" -eq "$2" ]
}

# under_way NAME DONE CLIENTS: so many turns are ok, and so many others have their client
under_way() {
	until_true 20 grep -q "^\[$2/[0-9]*\] ok" "$tmp/$1.err" && until_true 20 running client "$3" && return
	cat "$tmp/$1.err"
	return 1
}

# begin_long NAME: the turn at localhost is done, the other has its client
begin_long() {
	begin_matrix long --runtime docker
	check "$1: under way" under_way long 1 1
}

# begin_loop NAME: the short turns are done, the long one is under way; all at localhost
begin_loop() {
	begin_matrix loop --runtime docker --seed 1
	check "$1: under way" under_way loop 2 1
}

# rows NAME: "CELL STATUS REASON" of every cell
rows() {
	python3 - "$tmp/$1/latest/matrix.csv" <<'END'
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = csv.DictReader(file)
    print("\n".join(sorted({f"{r['cell']} {r['status']} {r['reason']}".strip() for r in rows})))
END
}

# column NAME COLUMN WHERE-COLUMN WHERE-VALUE: its different values
column() {
	python3 - "$tmp/$1/latest/matrix.csv" "${@:2}" <<'END'
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = csv.DictReader(file)
    print(*sorted({r[sys.argv[2]] for r in rows if r[sys.argv[3]] == sys.argv[4]}))
END
}

# row NAME PATTERN: a cell has such a row
row() {
	rows "$1" >"$tmp/rows"
	grep -qE "$2" "$tmp/rows" || { cat "$tmp/rows"; return 1; }
}

# says NAME TEXT FILE: it stands in one line
says() {
	check "$1" grep -qF -e "$2" "$tmp/$3"
	equal "$1: in one line" "$(grep -cF -e "$2" "$tmp/$3")" 1
}

# ---- a run ----

"$BIN/rttmatrix" doctor >"$tmp/doctor" 2>&1
version=$(engine version --format '{{.Server.Version}}')
equal 'doctor' "$(grep '^runtime docker' "$tmp/doctor")" "runtime docker  ok   $version"

began=$(date +%s)
in_tolerance "$tmp/small/latest/matrix.csv" run_matrix small --runtime docker
equal 'a run exits 0' $? 0
equal 'every row is ok' "$(column small status schema 1)" ok
equal 'runtime' "$(column small runtime schema 1)" docker
backend=$(column small link profile wan50)
check 'link: tun or netem' grep -qxE 'tun|netem' <<<"$backend"
equal 'link: the same for all' "$(column small link profile lan)" "$backend"
equal 'link: none at localhost' "$(column small link profile localhost)" none
equal 'every cell has rows' "$(rows small | wc -l)" 6
manifest=$tmp/small/latest/manifest.json
for image in probes link; do
	equal "manifest: image $image" \
		"$(jq -r ".system.images.$image | .name + \" \" + .id" "$manifest")" \
		"${!image} $(engine image inspect --format '{{.Id}}' "${!image}")"
done
id=$(engine create --label "${own#*=}" --network none "$probes" /none)
engine cp "$id:/probe-handshake" - | tar -xO >"$tmp/probe-handshake"
engine rm -f "$id" >/dev/null
equal 'manifest: the digest of a probe' "$(jq -r '.system.binaries."probe-handshake"' "$manifest")" \
	"$(sha256sum <"$tmp/probe-handshake" | cut -d ' ' -f 1)"
equal 'manifest: OpenSSL' "$(jq -r '.system.libraries."libssl-dev"' "$manifest" | grep -c '^3\.5\.')" 1
engine events --since "$began" --until "$(date +%s.%N)" --filter type=network \
	--format '{{.Action}} {{.Actor.Attributes.name}}' | grep -E '^create.*rttmatrix' >"$tmp/networks"
equal 'no network was made' "$(cat "$tmp/networks")" ''
left_nothing 'a run'

# ---- what runs, seen from outside ----

# Without a mark, with one of a process that lives (this one), with one that is none.
mark=$$:$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20):$(stat -Lc %i /proc/self/ns/pid):$(hostname)
make_bystanders() {
	local label name
	for label in "rttmatrix.run=$mark" rttmatrix.run=elsewhere rttmatrix.test.more=1; do
		name=rttmatrix-test-$$-${#label}
		engine create --name "$name" --label "${own#*=}" --label "$label" --network none "$probes" /none
		engine volume create --label "${own#*=}" --label "$label" "$name"
		engine network create --label "${own#*=}" --label "$label" "$name"
	done >/dev/null 2>&1
}
bystanders() {
	local list
	for list in 'ps -a' 'volume ls' 'network ls'; do
		# shellcheck disable=SC2086  # two words
		engine $list -q --filter "$own" | sort
	done | paste -sd ' '
}
make_bystanders
bystanders=$(bystanders)
between 'bystanders' "$(wc -w <<<"$bystanders")" 6 9

begin_matrix five --runtime docker
check 'four cells are under way' under_way five 1 4
mapfile -t clients < <(containers client)
mapfile -t servers < <(containers server)
mapfile -t nears < <(containers near)
mapfile -t fars < <(containers far)
equal 'each with four containers' "${#servers[@]} ${#nears[@]} ${#fars[@]}" '4 4 4'
engine inspect "${clients[@]}" "${servers[@]}" >"$tmp/probes.json"
engine inspect "${nears[@]}" "${fars[@]}" >"$tmp/sidecars.json"

# all WHAT EXPRESSION FILE: it holds for each container in there; else their names
all() {
	equal "$3: $1" "$(jq -r "[.[] | select($2 | not) | .Name] | join(\" \")" "$tmp/$3.json")" ''
}
nets=$(jq -r '[.[].Id]' "$tmp/sidecars.json")
for kind in probes sidecars; do
	equal "$kind: eight" "$(jq length "$tmp/$kind.json")" 8
	all 'the label of the run' ".Config.Labels.\"rttmatrix.run\" | startswith(\"$runner:\")" $kind
	all 'no capabilities to begin with' '.HostConfig.CapDrop == ["ALL"]' $kind
	all 'read only' '.HostConfig.ReadonlyRootfs' $kind
	all 'no new privileges' '.HostConfig.SecurityOpt | any(startswith("no-new-privileges"))' $kind
	all 'not privileged' '.HostConfig.Privileged == false' $kind
	all 'its own processes only' '.HostConfig.PidMode | . == "" or . == "private"' $kind
	all 'no binds' '(.HostConfig.Binds // []) == []' $kind
	all 'removed at its end' '.HostConfig.AutoRemove' $kind
done
all 'no capability' '(.HostConfig.CapAdd // []) == []' probes
all 'no device' '(.HostConfig.Devices // []) == []' probes
all 'no mount' '.Mounts == []' probes
all 'a user in numbers, not root' '.Config.User | test("^[1-9][0-9]*:[1-9][0-9]*$")' probes
all 'a limit of descriptors' '.HostConfig.Ulimits | any(.Name == "nofile" and .Hard > 0)' probes
all 'the network of a sidecar' \
	".HostConfig.NetworkMode | ltrimstr(\"container:\") | IN(${nets}[])" probes
capabilities='["NET_ADMIN"]' devices='[]' effective=0000000000001000
if [ "$backend" = tun ]; then
	capabilities='["NET_ADMIN","SYS_NICE"]' devices='["/dev/net/tun"]' effective=0000000000801000
fi
all 'capabilities' "[.HostConfig.CapAdd[] | ltrimstr(\"CAP_\")] | sort == $capabilities" sidecars
all 'devices' "[(.HostConfig.Devices // [])[].PathOnHost] == $devices" sidecars
all 'no network' '.HostConfig.NetworkMode == "none"' sidecars
all 'one volume' '[.Mounts[].Type] == ["volume"]' sidecars
sidecars_of=$(jq -r '.[] | .HostConfig.NetworkMode' "$tmp/probes.json" | sort | uniq -c | awk '{ print $1 }')
equal 'one probe a sidecar' "$(sort -u <<<"$sidecars_of")" 1

# status PID FIELD
status() {
	awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"
}
pid=$(jq '.[0].State.Pid' "$tmp/probes.json")
side=$(jq '.[0].State.Pid' "$tmp/sidecars.json")
if [[ "$(cat "/proc/$pid/comm" 2>&1)" = probe-* ]]; then
	equal 'a probe has no capability' "$(status "$pid" CapEff) $(status "$pid" CapBnd)" \
		'0000000000000000 0000000000000000'
	equal 'nor can it get one' "$(status "$pid" NoNewPrivs)" 1
	check 'it is not root' [ "$(status "$pid" Uid)" -ne 0 ]
	equal 'a sidecar has its own only' "$(status "$side" CapEff) $(status "$side" CapBnd)" \
		"$effective $effective"
	if [ "$(id -u)" -eq 0 ] && command -v nsenter >/dev/null && command -v ip >/dev/null; then
		for kind in probes sidecars; do
			jq '.[].State.Pid' "$tmp/$kind.json" | while read -r pid; do
				nsenter -t "$pid" -n ip -o link | cut -d ' ' -f 2 | sort | paste -sd ' '
			done | sort -u >"$tmp/links"
			equal "$kind: lo and the link, nothing else" "$(cat "$tmp/links")" 'link0: lo:'
		done
	else
		skip 'what is in the namespaces' 'it takes root and nsenter'
	fi
else
	skip 'the processes themselves' 'the engine runs them where they cannot be seen from here'
fi

# ---- containers that are killed, and clean beside a run that lives ----

timeout 30 "$BIN/rttmatrix" clean --output "$tmp/five" >"$tmp/cleaned" 2>&1
equal 'clean beside a run: exits 0' $? 0
for role in client server near far; do
	equal "clean beside a run: $role" "$(containers $role | wc -l)" 4
done
equal 'clean: bystanders' "$(bystanders)" "$bystanders"
engine kill "${clients[0]:-}" "${servers[1]:-}" "${nears[2]:-}" "${fars[3]:-}" >/dev/null
finish
equal 'killed containers: exits 1' $? 1
rows five >"$tmp/rows"
for who in client server link agent; do
	equal "a killed $who: one row, which names it" \
		"$(grep -cE "(failed|invalid_link) the $who was ended by signal 9" "$tmp/rows")" 1
done
equal 'the others are ok, before and after' "$(grep -c ' ok$' "$tmp/rows")" 2
left_nothing 'killed containers'

# ---- Ctrl-C ----

# With this seed the short cells come first.
matrix loop localhost 20 '- { probe: keepalive, families: [4, 6] }' \
	'- { probe: handshake, samples: 400000, deadline: 60s }'
begin_loop SIGINT
equal 'loopback: the client joins the server' \
	"$(engine inspect --format '{{.HostConfig.NetworkMode}}' "$(containers client)")" \
	"container:$(engine inspect --format '{{.Id}}' "$(containers server)")"
equal 'loopback: the server has no network' \
	"$(engine inspect --format '{{.HostConfig.NetworkMode}}' "$(containers server)")" none
kill -INT "$runner"
finish
equal 'SIGINT: exits 130' $? 130
check 'SIGINT: nothing left' none_left
check 'SIGINT: finished cells are kept' row loop '^keepalive.* ok$'

# ---- the runner is killed ----

begin_long 'kill -9 of the runner'
kill_runner
left_nothing 'kill -9 of the runner'

# ---- side by side ----

cp "$tmp/quick.yaml" "$tmp/beside.yaml"
begin_matrix quick --runtime docker
first=$runner
begin_matrix beside --runtime docker
finish "$first"
equal 'side by side: the first exits 0' $? 0
finish
equal 'side by side: the second exits 0' $? 0
left_nothing 'side by side'

# ---- no images, no engine ----

# shim NAME: an engine whose program is the script on stdin, which may go on to $engine
shim() {
	mkdir "$tmp/shim-$1"
	{
		printf '#!/usr/bin/env bash\nengine=%q own=%q link=%q\n' "$engine" "${own#*=}" "$link"
		cat
	} >"$tmp/shim-$1/$(basename "$engine")"
	chmod +x "$tmp/shim-$1/$(basename "$engine")"
	DOCKER=$tmp/shim-$1/$(basename "$engine")
}

# not_docker NAME TEXT: --runtime docker exits 4 with it, auto takes another runtime and says it
not_docker() {
	run_matrix quick --runtime docker
	equal "$1: --runtime docker exits 4" $? 4
	says "$1: says why" "$2" quick.err
	run_matrix quick
	equal "$1: auto exits 0" $? 0
	check "$1: auto takes netns and says why" grep -q "^runtime netns: .*not docker, since .*$2" "$tmp/quick.err"
	equal "$1: the rows say netns" "$(column quick runtime schema 1)" netns
	"$BIN/rttmatrix" doctor >"$tmp/doctor" 2>&1
	check "$1: doctor" grep -q "^runtime docker *no .*$2" "$tmp/doctor"
}

if grep -q '^runtime netns *ok' "$tmp/doctor"; then
	shim images <<'END'
[ "$1 $2" = 'image inspect' ] && { echo 'Error: No such image' >&2; exit 1; }
exec "$engine" "$@"
END
	not_docker 'no images' 'make images'
	DOCKER=no-such-engine
	not_docker 'no engine' 'no-such-engine'
	DOCKER=$engine
	export DOCKER_HOST=unix:///nonexistent
	not_docker 'a deaf engine' 'no container engine answers'
	unset DOCKER_HOST
else
	skip 'auto without docker' 'no network namespaces here'
fi

# ---- a name that is taken ----

shim taken <<'END'
if [ "$1" = run ]; then
	for ((i = 1; i < $#; i++)); do
		next=$((i + 1))
		[[ "${!i} ${!next}" = --name\ *-client ]] &&
			"$engine" create --label "$own" --label foreign=1 --network none --name "${!next}" "$link" >/dev/null
	done
fi
exec "$engine" "$@"
END
run_matrix quick --runtime docker
equal 'a taken name: exits 1' $? 1
check 'a taken name: a row' row quick 'failed .*[Cc]onflict.*already in use'
DOCKER=$engine
left_nothing 'a taken name'
equal "a taken name: the other's container stays" "$(engine ps -aq --filter "$own" --filter label=foreign | wc -l)" 1

# ---- cells of other programs ----

cp "$TOP/docker/example-probe.py" "$tmp/my-probe.py"
matrix command localhost 5 '- { probe: mine, command: ./my-probe.py }' '- probe: handshake'
run_matrix command
check 'command: auto says why not docker' \
	grep -q '^runtime netns: .*not docker, since mine has a command:' "$tmp/command.err"
run_matrix command --runtime docker
equal 'command: --runtime docker exits 0' $? 0
check 'command: the cell is skipped' row command '^mine.* skipped a command: is a program of this machine'
check 'command: the other is ok' row command '^handshake.* ok$'

image=rttmatrix-test:$$
check 'image: built' engine build -q --label "${own#*=}" -t "$image" - < \
	<(printf 'FROM %s\nENTRYPOINT ["/probe-handshake"]\n' "$probes")
matrix image '[localhost, far]' '{ localhost: 3, far: 1 }' "- { probe: mine, image: '$image', set: { wait: block } }"
in_tolerance "$tmp/image/latest/matrix.csv" run_matrix image --runtime docker
equal 'image: exits 0' $? 0
equal 'image: ok' "$(rows image | grep -c '^mine.* ok$')" 2
run_matrix image --runtime netns
equal 'image: nothing measured elsewhere exits 4' $? 4
check 'image: skipped elsewhere' row image 'skipped the runtime netns runs no image:'
matrix typo localhost 3 "- { probe: mine, image: '$image', set: { wiat: block } }"
run_matrix typo --runtime docker
equal 'image: an unknown option exits 2' $? 2
says 'image: with the nearest name' "did you mean 'wait'" typo.err
check 'image: before anything started' [ ! -e "$tmp/typo" ]
matrix absent localhost 3 '- { probe: mine, image: "rttmatrix-test:absent" }' '- probe: handshake'
run_matrix absent --runtime docker
equal 'an image that is not there: exits 0' $? 0
check 'an image that is not there: a row' row absent '^mine.* skipped .*rttmatrix-test:absent'
matrix option localhost 3 '- { probe: mine, image: "--privileged" }'
run_matrix option --runtime docker
equal 'an option as image: exits 2' $? 2
says 'an option as image: where' "option.yaml:7:27: '--privileged' is not an image" option.err
left_nothing 'other programs'

# ---- the first process of a container has to heed SIGTERM itself ----

engine run --detach --interactive --rm --network none --label "${own#label=}" --name "silent-$$" "$link" \
	silent >/dev/null
until_true 5 sh -c "'$engine' logs silent-$$ | grep -q '^ready'"
peer=$(engine logs "silent-$$" | sed -n 's/^ready //p')
engine run --detach --network "container:silent-$$" --label "${own#label=}" --name "client-$$" \
	--entrypoint /probe-handshake "$probes" run --peer "$peer" --samples 3 --deadline 50s >/dev/null
until_true 5 sh -c "'$engine' top client-$$ | grep -q probe-handshake"
engine stop --time 20 "client-$$" >/dev/null
equal 'a client ends at SIGTERM' "$(engine inspect --format '{{.State.ExitCode}}' "client-$$")" 143
engine rm -f "client-$$" "silent-$$" >/dev/null

# ---- an engine of our own, which we may stop, and where nobody else's runs remove what is left ----

folder=$tmp/engine
# In a network namespace of its own: with --bridge=none it removes docker0, the other engine's.
start_engine() {
	unshare --net dockerd --data-root "$folder/data" --exec-root "$folder/exec" -H "unix://$folder/socket" \
		--pidfile "$folder/pid" --bridge=none --iptables=false --ip6tables=false >>"$folder/log" 2>&1 &
	dockerd=$!
	until_true 20 engine version
}

mkdir "$folder"
if [ "$(id -u)" -ne 0 ] || ! command -v dockerd >/dev/null ||
	! command -v unshare >/dev/null || [[ "$(basename "$engine")" = podman* ]]; then
	skip 'the engine ends' 'it takes root and a dockerd of its own'
	stoppable=""
else
	engine save "$probes" "$link" -o "$folder/images.tar"
	export DOCKER_HOST=unix://$folder/socket
	stoppable=yes
	if ! start_engine || ! engine load -qi "$folder/images.tar" >/dev/null 2>&1; then
		skip 'the engine ends' "no second dockerd here: $(tail -n 1 "$folder/log")"
		unset DOCKER_HOST
		stoppable=""
	fi
fi
[ -z "$stoppable" ] || make_bystanders
bystanders=$(bystanders)

# ---- the runner is killed, and the sweeper too ----

# kill_both: the sweeper is the child with a session of its own
kill_both() {
	local sweeper
	sweeper=$(ps -o pid=,sid= --ppid "$runner" | awk '$1 == $2 { print $1 }')
	equal 'kill -9 of both: one sweeper' "$(wc -w <<<"$sweeper")" 1
	# shellcheck disable=SC2086  # none when it is not there
	kill_runner $sweeper
}
only_the_server() {
	running near 0 && running far 0
}
begin_long 'kill -9 of both'
kill_both
check 'kill -9 of both: the sidecars end by themselves' until_true 10 only_the_server
for role in client server; do containers $role; done | xargs "$engine" inspect >"$tmp/remain.json"
check 'kill -9 of both: what remains has a deadline' \
	jq -e 'length > 0 and all(.[]; .Args | index("--deadline"))' "$tmp/remain.json"
check 'kill -9 of both: the volume remains' grep -qx "rttmatrix-$runner-[0-9]*" <(leftovers)
timeout 60 "$BIN/rttmatrix" clean --output "$tmp/long" >"$tmp/cleaned" 2>&1
equal 'clean: exits 0' $? 0
check 'clean: says what it removed' grep -q "^removed volume rttmatrix-$runner-.* of a run that is gone" "$tmp/cleaned"
check 'clean: nothing left' none_left
equal 'clean: bystanders' "$(bystanders)" "$bystanders"

begin_loop 'the next run'
kill_both
killed=$runner
run_matrix quick --runtime docker --quiet
equal 'the next run: exits 0' $? 0
check 'the next run: says what it removed' grep -q "^removed volume rttmatrix-$killed-" "$tmp/quick.err"
check 'the next run: nothing left' none_left
equal 'the next run: bystanders' "$(bystanders)" "$bystanders"

# ---- the engine ends ----

[ -n "$stoppable" ] || exit 0
begin_long 'the engine ends'
kill -KILL "$dockerd"
finish
equal 'the engine ends: exits 1' $? 1
check 'the engine ends: what, and what to do' grep -q 'go on with --resume.*no container engine answers' "$tmp/long.err"
equal 'the engine ends: finished turns are kept, and no others' \
	"$(cd "$tmp/long/latest/cells" && find . -name outcome.txt -not -path '*discarded*' | paste -sd ' ')" ./keepalive/default/localhost/4/1/outcome.txt
wait "$dockerd" 2>/dev/null
# Its containerd died with it, and looks alive to the next where nobody reaps it.
rm -f "$folder/exec/containerd/containerd.pid"
start_engine
equal 'the engine ends: it starts again' $? 0
begin resumed --resume "$(realpath "$tmp/long/latest")"
finish
equal 'the engine ends: resume exits 0' $? 0
equal 'the engine ends: resume completes it' "$(rows long | grep -c ' ok$')" 2
left_nothing 'the engine ends'
equal 'the engine ends: bystanders' "$(bystanders)" "$bystanders"
kill "$dockerd"
wait "$dockerd"
