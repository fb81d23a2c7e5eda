# SPDX-License-Identifier: GPL-2.0
# Checks the CSV of a run with short=1 control=500, and the table of the same
# run in the file `table`; `kinds` is the list of kinds. Prints TAP.

function result(name, bad)
{
	n++
	if (bad)
		print "# " bad
	print (bad ? "not ok " : "ok ") n " - bench: " name
}

function note(what)
{
	if (!complaint[what]++ && complaints[current]++ < 5)
		said[current] = said[current] "\n#   line " FNR ": " what
}

# In the CSV's own columns.
function columns()
{
	subject = $2; workload = $3; timers = $4; ns = $5; ratio = $6
	bytes = $7; layout = $8; cache = $9; form = $10; param = $11
	rounds = $12; min = $13; max = $14; irqoff = $15; status = $16
}

BEGIN {
	FS = ","
	split("arm cancel arm_cancel rearm_same rearm_later rearm_earlier " \
	      "expire_spread expire_pileup advance_empty next mixed", list, " ")
	for (i in list)
		workloads[list[i]] = 1
}

FNR == 1 {
	header = $0
	next
}

{
	columns()
	rows++
	subjects[subject] = 1
	key = workload "," timers "," layout "," cache "," form "," param

	current = "form"
	if (NF != 16)
		note("has " NF " fields")
	if (!(workload in workloads))
		note("workload " workload)
	if (status !~ /^(ok|refused|n\/a)$/)
		note("status " status)
	if (layout !~ /^(ordered|scattered)$/ || cache !~ /^(warm|cold)$/ ||
	    form !~ /^(call|batch|locked|lazy|node)$/)
		note("layout, cache or form " layout " " cache " " form)

	if (form == "node") {
		node[subject, timers] += (bytes >= 16 && bytes <= 512)
		next
	}
	count[subject, key]++
	keys[key] = 1
	state[subject, key] = status
	value[subject, key] = ns

	current = "figures"
	if (status == "ok") {
		if (!(ns > 0) || !(min > 0) || min > ns || ns > max || !(rounds > 0))
			note("figures " min " " ns " " max " of " rounds " rounds")
		expect = "timer_list," workload "," timers "," layout "," cache ",call,"
		of[subject, key] = ratio
	} else if (ns != "" || ratio != "" || min != "" || max != "") {
		note("figures in a row that is " status)
	}
}

END {
	result("the header is the agreed one", header != \
	       "env,subject,workload,n,ns_per_op,ratio_to_timer_list," \
	       "bytes_per_timer,layout,cache,form,param,rounds,min,max," \
	       "irqoff_max_ns,status")
	result("every field is of the agreed set", said["form"])
	result("figures are positive and ordered, and only where they mean something",
	       said["figures"])

	missing = ""
	split("timer_list hrtimer control " kinds, list, " ")
	for (i in list)
		if (!(list[i] in subjects))
			missing = missing " " list[i]
	result("every subject is there", missing)

	wrong = ""
	for (s in subjects)
		for (k in keys)
			if (count[s, k] != 1)
				wrong = wrong "\n#   " s " has " count[s, k] + 0 " of " k
	result("each subject has each row, once", wrong)

	wrong = ""
	for (s in subjects)
		for (k in keys) {
			split(k, f, ",")
			if (node[s, f[2]] != 1)
				wrong = wrong "\n#   " s " at " f[2]
		}
	result("the size of each subject's timer is there", wrong)

	wrong = ""
	for (s in subjects)
		for (k in keys) {
			split(k, f, ",")
			if (state[s, k] != "ok")
				continue
			yard = "timer_list" SUBSEP f[1] "," f[2] "," f[3] "," f[4] ",call,"
			should = value[yard] != "" ? value[s, k] / value[yard] : ""
			is = of[s, k]
			if (f[6] != "")
				should = ""
			# Both figures were rounded to hundredths.
			slip = is == "" ? 0 : is - should
			most = is == "" ? 0 : 0.001 + (1 + should) * 0.01 / value[yard]
			if ((should == "") != (is == "") || slip > most || slip < -most)
				wrong = wrong "\n#   " s " " k ": " is " instead of " should
		}
	result("ratios are to the plain call of timer_list, in the same place",
	       wrong)

	wrong = ""
	for (k in keys) {
		split(k, f, ",")
		if (f[5] == "call" && f[1] !~ /^(advance_empty|next)$/ &&
		    !(f[1] == "arm_cancel" && (f[3] != "ordered" || f[4] != "warm")) &&
		    state["timer_list", k] != "ok")
			wrong = wrong "\n#   " k ": " state["timer_list", k]
		if (f[5] == "batch" && state["timer_list", k] != "n/a")
			wrong = wrong "\n#   " k ": " state["timer_list", k]
	}
	result("timer_list does all that it can and nothing else", wrong)

	# It waits 500 ns at least, by a clock that takes some time to read.
	wrong = ""
	split("arm cancel rearm_same rearm_later rearm_earlier expire_pileup",
	      list, " ")
	for (i in list) {
		k = list[i] ",1000,ordered,warm,call,"
		more = value["control", k] - value["timer_list", k]
		if (!(more >= 450 && more <= 2000))
			wrong = wrong "\n#   " list[i] ": " more
	}
	result("a subject that is 500 ns slower is seen to be", wrong)

	wrong = ""
	for (k in keys)
		if (k ~ /^expire_pileup,/ && !(state["cascading", k] == "ok"))
			wrong = wrong "\n#   " k
	result("cascading has expired its timers", wrong)

	wide = 0
	while ((getline line <table) > 0) {
		if (length(line) > 100)
			wide++
		split(line, f, " ")
		shown[f[1]] = 1
	}
	missing = ""
	for (s in subjects)
		if (!(s in shown))
			missing = missing " " s
	result("the table shows every subject", missing)
	result("the table fits into 100 columns", wide)
	exit n == 0
}
