#!/bin/sh
# Installs the system's tools that patchperf runs, where it may; else says exactly what to install.
set -eu

missing=
useful=
need() { # need PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
want() { # want PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || useful="$useful $2"
}
need git git
need patch patch
need strace strace
need bwrap bubblewrap
# These count instructions where the processor has no counter for it.
if [ "$(uname -m)" = x86_64 ]; then
    want qemu-x86_64 qemu-user
    want cc "gcc libc6-dev"
    want valgrind valgrind
fi
[ -n "$missing$useful" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v apt-get >/dev/null 2>&1 && command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root=sudo
elif [ -n "$missing" ]; then
    echo "patchperf needs these packages: install$missing and run the same command again" >&2
    exit 1
else
    echo "patchperf can count instructions with more of these packages:$useful" >&2
    exit 0
fi
install() {
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
$as_root apt-get update -qq || [ -z "$missing" ]
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing
# shellcheck disable=SC2086
[ -z "$useful" ] || install $useful || echo "patchperf goes on without these packages:$useful" >&2
