#!/bin/sh
# Installs the system's tools that patchperf runs, where it may; else says exactly what to install.
set -eu

missing=
need() { # need PROGRAM PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need git git
need patch patch
need strace strace
need bwrap bubblewrap
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root=sudo
    else
        echo "patchperf needs these packages: run  sudo apt-get install$missing  and the same command again" >&2
        exit 1
    fi
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "patchperf needs these packages: install$missing with your package manager and run the same command again" >&2
    exit 1
fi
