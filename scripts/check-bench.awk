# SPDX-License-Identifier: GPL-2.0
# Checks the CSV of a run with short=1 control=500, and of the same run the table
# in the file `table` and what was counted in the file `counts`; `kinds` is the
# list of kinds. Prints TAP.

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

# Can a subject not do that, whatever it is?
function not_there(subject, key,   f)
{
	split(key, f, ",")
	if (f[6] ~ /^slack=/ && subject != "slack")
		return 1
	return subject ~ /^(timer_list|control|hrtimer)$/ &&
	       (f[1] ~ /^(advance_empty|next|expire_far)$/ || f[5] != "call")
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
	      "expire_spread expire_pileup expire_far advance_empty next mixed",
	      list, " ")
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
		longest[subject, key] = irqoff
	} else if (ns != "" || ratio != "" || min != "" || max != "") {
		note("figures in a row that is " status)
	}
}

# Lateness and cascades, of every kind, and what slack buys.
function check_counts(   line, f, k, w, s, i, list, late, percent, most, wrong,
			 param, moved, header)
{
	getline header <counts
	while ((getline line <counts) > 0) {
		split(line, f, ",")
		k = f[3] "," f[4] "," f[5] "," f[6] "," f[7]
		counted[f[2], k] = f[8]
		moved[f[2], k] = f[9]
		late[f[2], k] = f[12]
		percent[f[2], k] = f[14]
	}
	result("the header of the counts is the agreed one", header != \
	       "env,subject,workload,n,layout,form,param,fired," \
	       "moved_per_timer,slots_touched,late_mean_ticks,late_max_ticks," \
	       "late_mean_percent,late_max_percent")

	wrong = ""
	for (s in subjects)
		for (k in keys) {
			split(k, f, ",")
			w = f[1] "," f[2] "," f[3] "," f[5] "," f[6]
			i = state[s, k] == "ok" && k ~ /^(expire|mixed)/ &&
			    s !~ /^(timer_list|control|hrtimer)$/
			if (i != (counted[s, w] > 0))
				wrong = wrong "\n#   " s " " k
		}
	result("what expiry did is counted for each kind", wrong)

	wrong = ""
	for (k in late) {
		split(k, f, SUBSEP)
		if (f[1] != "noncascading" && k !~ /slack=/ && late[k] != 0)
			wrong = wrong "\n#   " k ": " late[k]
	}
	for (i in keys) {
		split(i, f, ",")
		k = f[1] "," f[2] "," f[3] "," f[5] ","
		if (f[1] == "expire_far" && f[6] == "" &&
		    !(late["noncascading", k] > 0))
			wrong = wrong "\n#   noncascading is not late"
	}
	result("whatever is exact is never late, and what rounds is", wrong)

	wrong = ""
	n_far = 0
	for (i in keys) {
		split(i, f, ",")
		if (f[1] !~ /^expire_(far|spread)$/ || f[5] != "call" || f[6] != "")
			continue
		k = f[1] "," f[2] "," f[3] "," f[5] ","
		n_far++
		if (moved["slack", k] != moved["cascading", k] ||
		    !(moved["slack", k] > 0))
			wrong = wrong "\n#   " k ": " moved["slack", k] \
				" moves, cascading has " moved["cascading", k]
		# A delay of less than 8 ticks has no slack at 12.5 %.
		if (!(moved["slack", k "slack=1%"] < moved["slack", k]) ||
		    !(moved["slack", k "slack=12.5%"] < 0.05) ||
		    (f[1] == "expire_far" && moved["slack", k "slack=12.5%"] != 0))
			wrong = wrong "\n#   " k ": " moved["slack", k "slack=1%"] \
				" and " moved["slack", k "slack=12.5%"]
		if (f[1] == "expire_far" &&
		    !(moved["slack", k "slack=mixed"] > 0.25 * moved["slack", k] &&
		      moved["slack", k "slack=mixed"] < 0.5 * moved["slack", k]))
			wrong = wrong "\n#   " k ": mixed " \
				moved["slack", k "slack=mixed"]
	}
	result("without slack it cascades as cascading does, with slack less",
	       n_far ? wrong : "no such row")

	wrong = ""
	split("1 12.5", list, " ")
	for (k in late)
		for (i in list) {
			param = "slack=" list[i] "%"
			if (k ~ "expire_far.*," param "$" &&
			    !(percent[k] > 0.8 * list[i] && percent[k] <= list[i]))
				wrong = wrong "\n#   " k ": " percent[k]
		}
	result("lateness makes use of the slack, and keeps to it", wrong)
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
		if (f[1] == "arm_cancel" && (f[3] != "ordered" || f[4] != "warm"))
			continue
		if (state["timer_list", k] != \
		    (not_there("timer_list", k) ? "n/a" : "ok"))
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

	# What the kernel's two hold a lock for in expiry cannot be known.
	wrong = ""
	for (s in subjects)
		for (k in keys) {
			known = k !~ /^(expire|mixed)/ ||
				s !~ /^(timer_list|control|hrtimer)$/
			if (state[s, k] == "ok" && (longest[s, k] > 0) != known)
				wrong = wrong "\n#   " s " " k ": " longest[s, k]
		}
	result("how long interrupts were off is there, wherever it can be known",
	       wrong)

	check_counts()

	wide = 0
	warm = 1
	while ((getline line <table) > 0) {
		# A read that misses the caches takes far longer than one that hits.
		if (line ~ /^ *cold [0-9]+.* warm [0-9]+/) {
			split(line, word, /[ \/,]+/)
			for (i = 1; i in word; i++)
				if (word[i] == "cold")
					cold = word[i + 1]
				else if (word[i] == "warm")
					warm = word[i + 1]
			warm = cold <= 2 * warm
		}
		if (length(line) > 100)
			wide++
		split(line, f, " ")
		shown[f[1]] = 1
	}
	missing = ""
	for (s in subjects)
		if (!(s in shown))
			missing = missing " " s
	result("what was evicted is cold: a read of it takes long", warm)
	result("the table shows every subject", missing)
	result("the table fits into 100 columns", wide)
	exit n == 0
}
