# SPDX-License-Identifier: GPL-2.0
# bash completion for cogctl; installed as completions/cogctl.
# shellcheck shell=bash

_cogctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} options=

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		options="run compare kinds when table precision stat top arm cancel wait"
		options="$options bench"
		options="$options --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		return
	fi
	case ${COMP_WORDS[1]} in
	run)	 options="--in-process --device" ;;
	compare) options="--all" ;;
	kinds)	 options="--table" ;;
	when)	 options="--hz --now" ;;
	table)	 options="--hz" ;;
	precision) options="--hz --svg" ;;
	stat)	 options="--json" ;;
	top)	 options="--delay --times" ;;
	arm)	 options="--every --user" ;;
	bench)	 options="--device --n --rounds --csv" ;;
	wait)	 options="--count --timeout --json" ;;
	esac
	case $cur:${COMP_WORDS[1]} in
	-*)		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur") ;;
	*:run | *:compare) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	esac
}
complete -o filenames -F _cogctl cogctl
