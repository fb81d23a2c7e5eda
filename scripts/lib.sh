# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What the scripts share: where things are, how to talk, how to stop.
# To be sourced, after which the working directory is the top of the tree.

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit
cache=${COGWHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cogwheel}

# Results go to standard output, talk to standard error: "$(scripts/kernel X)"
# must yield a directory and nothing else.
say()
{
	echo "cogwheel: $*" >&2
}

die()
{
	say "$*"
	exit 1
}

# What cannot be had on this machine is no failure; 77 says so to callers.
skip()
{
	say "skipped: $*"
	exit 77
}

# Hold a lock until the script ends, so that two makes never write the same
# place of the cache.
lock()
{
	mkdir -p "$cache/lock"
	exec 9>"$cache/lock/$1"
	flock -n 9 && return
	say "$1 is being made by another make: waiting for it"
	flock 9
}

# counted WHAT EXPECTED LOG COMMAND...: run a command that prints a line per
# step into LOG, and show how far it is. The counter runs in the background
# and the command in front, since a shell's background jobs ignore ^C.
counted()
{
	counted_what=$1 counted_of=$2 counted_log=$3
	shift 3
	: >"$counted_log"
	(
		# Not ours: the counter would keep the lock alive.
		exec 9>&-
		# Nor is our caller to wait for the last sleep.
		while sleep 10 >/dev/null 2>&1; do
			done=$(wc -l <"$counted_log")
			if [ "$counted_of" -gt 0 ]; then
				pct=$((done * 100 / counted_of))
				[ "$pct" -lt 99 ] || pct=99
				say "$counted_what: $pct %"
			else
				say "$counted_what: $done lines"
			fi
		done
	) &
	counted_pid=$!
	trap 'kill "$counted_pid" 2>/dev/null || :' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	counted_rc=0
	"$@" >>"$counted_log" 2>&1 || counted_rc=$?
	kill "$counted_pid" 2>/dev/null || :
	wait "$counted_pid" 2>/dev/null || :
	trap - EXIT INT TERM HUP
	if [ "$counted_rc" -ne 0 ]; then
		tail -n 25 "$counted_log" >&2
		die "$counted_what failed; the whole log is $counted_log"
	fi
}
