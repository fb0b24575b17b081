#!/usr/bin/env bash
# Both backends on the short rows of the conformance table, and the judge of them: that it finds
# a link that is not what the table says, and two that are not alike.
. "$(dirname "$0")/lib.sh"
need python3 ping ss unshare nsenter

suite=$TOP/tests/conformance
raw=$BUILD/conformance/raw
"$suite/run" --quick "$BUILD" >"$tmp/table" 2>"$tmp/log"
status=$?
if [ "$status" -eq 77 ]; then
	skip conformance "$(tail -n 1 "$tmp/log")"
	exit 0
fi
grep -q '| FAIL' "$tmp/table"
equal "exit status says what the table says" "$status" $((1 - $?))
while IFS='|' read -r _ profile what _ _ _ _ verdict _; do
	[[ $profile =~ \*\*(.*)\*\* ]] && name=${BASH_REMATCH[1]}
	case $verdict in
	' ok'*) ok "$name:$what" ;;
	' FAIL'*) not_ok "$name:$what" "$verdict" ;;
	esac
done <"$tmp/table"

# judged TABLE TUN NETEM PROFILE: does the judge fail something of this profile?
judged() {
	"$suite/judge" "${@:1:3}" >"$tmp/judged" || [ $? -eq 1 ]
	awk -v name="**$4**" -F '|' '$2 ~ /[*]/ { on = index($2, name) } on && /FAIL/ { found = 1 }
		END { exit !found }' "$tmp/judged"
}
# A table that says something else than was measured.
# not_this NAME OLD NEW
not_this() {
	sed "/^$1\t/s/$2/$3/" "$suite/profiles.tsv" >"$tmp/other.tsv"
	check "finds $1: $2 that should be $3" judged "$tmp/other.tsv" "$raw/tun" "$raw/netem" "$1"
}
not_this rtt10 'rtt: 10ms' 'rtt: 12ms'
not_this uniform 'jitter: 5ms' 'jitter: 3ms'
not_this loss1 'loss: 1%' 'loss: 2%'
not_this burst4 'burst: 4' 'burst: 2'
not_this burst4 'burst: 4' 'duplicate: 1%'
not_this reorder 'reorder: 5%' 'reorder: 8%'
not_this reorder 'reorder: 5%' 'corrupt: 1%'
not_this limit 'limit: 20' 'limit: 21'
not_this queue 'queue: 10000b' 'queue: 13000b'

# What netem sent through, changed by an awk program.
# unlike NAME PROGRAM WHAT
unlike() {
	rm -rf "$tmp/netem"
	cp -r "$raw/netem" "$tmp/netem"
	awk "$2" "$raw/netem/$1/datagrams" >"$tmp/netem/$1/datagrams"
	check "finds $1: $3" judged "$suite/profiles.tsv" "$raw/tun" "$tmp/netem" "$1"
}
# shellcheck disable=SC2016 # $1 and so on are awk's
{
	unlike uniform '$1 == "got" { $4 = 10000000 + ($4 - 10000000) / 2 } { print }' 'half the jitter'
	unlike rtt10 '$1 == "got" { $4 += 1000000 } { print }' '1 ms more'
	unlike rtt10 '$3 != 17 || $1 == "sent" { print }' 'one datagram less'
	unlike rtt10 '{ print } $3 == 17 { print }' 'one datagram twice'
	unlike rtt10 '$3 == 17 { kept = $0; next } { print } $3 == 18 && kept { print kept; kept = "" }' 'two swapped'
	unlike rtt10 '$3 == 17 { sub("got", "bad") } { print }' 'one bit flipped'
}

check "a backend that does not come up" sh -c "rm -f '$tmp/netem/rtt10/datagrams'
	echo refused >'$tmp/netem/rtt10/failed'
	'$suite/judge' '$suite/profiles.tsv' '$raw/tun' '$tmp/netem' | grep -q 'FAIL: netem: refused'"

# Its figures, against those of tables.
check "statistics" python3 -B - "$suite" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import stats
assert stats.binomial_band(1000, 0.05) == (29, 74)
assert stats.binomial_band(10000, 0.01) == (69, 134)
assert stats.binomial_band(100, 0.1) == (2, 21)
for x, freedom in ((3.841, 1), (5.991, 2), (11.07, 5), (18.307, 10)):
    assert abs(stats.chi_square_p(x, freedom) - 0.05) < 1e-4, (x, freedom)
assert abs(stats.kolmogorov_p(1.358 / 100, 10000) - 0.05) < 1e-3
assert stats.ks_two([1, 2, 3], [1, 2, 3])[0] == 0 and stats.ks_two([1, 2], [3, 4])[0] == 1
chain = stats.Chain(0.02 / 4 / 0.98, 1 / 4, 1, 0)
assert abs(chain.loss - 0.02) < 1e-9 and abs(chain.tail(3) - 0.75 ** 2) < 1e-9
single = stats.Chain(0.1, 0.9, 1, 0)  # no memory: binomial
assert abs(single.variance(1000) - 1000 * 0.1 * 0.9) < 1e-6
PYTHON
