#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks. Debian only; elsewhere it names what is missing.
#
#   tools/setup.sh build   a C++ compiler (the SQL engine is a C++ library, linked statically)
#   tools/setup.sh test    the above and a PostgreSQL server
set -euo pipefail

missing=()
command -v go >/dev/null || {
	echo "setup: Go 1.26 or newer is needed on PATH" >&2
	exit 1
}
command -v g++ >/dev/null || missing+=(g++)
if [ "${1:-build}" = test ] && ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
	missing+=(postgresql)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "setup: install these packages as root: ${missing[*]}" >&2
		exit 1
	}
	as_root=(sudo)
fi
command -v apt-get >/dev/null || {
	echo "setup: install the equivalent of these Debian packages: ${missing[*]}" >&2
	exit 1
}

# The package's own cluster is not wanted: tests start private servers, and an idle one would hold port 5432.
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
	"${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
	echo "create_main_cluster = false" |
		"${as_root[@]}" tee /etc/postgresql-common/createcluster.d/millstream.conf >/dev/null
fi
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
