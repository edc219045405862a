#!/bin/bash
# The service of samples/service with its privileges and no more.
. "$TOP/tests/lib/check.sh"
unit=$TOP/samples/service/flame-archive.service

if command -v systemd-analyze >/dev/null; then
	# the unit as it is, but for programs that are not installed here
	check "systemd understands the unit" bash -c "[ -z \"\$(systemd-analyze verify '$unit' 2>&1 | grep flame-archive)\" ]"
else
	skip "systemd understands the unit: no systemd-analyze"
fi

caps=$(sed -n 's/^AmbientCapabilities=//p' "$unit" | tr ' ' '\n' | sed 's/CAP_/+/' | tr 'A-Z\n' 'a-z,' | sed 's/,$//')
# the archive belongs to nobody, who also may read the programs
chmod 755 "$work"
cp "$BIN/collect" "$BIN/collapse" "$work" && mkdir "$work/archive" && chown 65534 "$work/archive" 2>/dev/null
as_service() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="-all,$caps" --ambient-caps="-all,$caps" \
		--bounding-set="-all,$caps" --no-new-privs "$@"
}
if [ "$(id -u)" != 0 ] || ! can_sample; then
	skip "the pipeline runs with those capabilities: needs root and perf events"
elif ! as_service true 2>"$work/why"; then
	skip "the pipeline runs with those capabilities: $(head -n 1 "$work/why")"
else
	(exec -a a_loop_of_root perl -e '1 while time - $^T < 100') &
	loop=$!
	cd "$work" || exit 2
	as_service timeout 100 sh -c './collect -q -F 199 -a --duration 3 | ./collapse -q --archive archive --every 1s' 2>"$work/log"
	kill $loop
	wait $loop 2>/dev/null
	check "the pipeline runs with those capabilities" bash -c 'ls archive/*.folded.zst'
	check "it sees the processes of others, with names" bash -c "'$BIN/collapse' -q archive | grep -E '^(perl|a_loop).*;Perl_'"
	check "and the kernel, with names" bash -c "'$BIN/collapse' -q archive | grep -E ';(do_syscall_64|entry_SYSCALL_64_after_hwframe|el0_svc)'"
fi
