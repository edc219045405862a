# Sourced: finds Debian's Chromium and installs what the scripts here import;
# skips the group $1, loudly, where one of them cannot be had.
here=$TOP/tests/browser
browser=
for name in chromium chromium-browser google-chrome; do
	browser=$(command -v $name) && break
done
if [ -z "$browser" ]; then
	skip "$1: no Chromium here; 'make deps' installs it"
	exit 0
fi
if [ ! -d "$here/node_modules/speedscope" ]; then
	(cd "$here" && npm ci --no-audit --no-fund) >"$work/npm.log" 2>&1 || {
		skip "$1: npm cannot install what it imports: $(tail -n 1 "$work/npm.log")"
		exit 0
	}
fi
