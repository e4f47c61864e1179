#!/bin/sh
# Installs what building and testing Inrush needs and this machine lacks.
#
#   scripts/setup.sh [GIGABYTES [build|demo|test|cluster|dist-ARCH|dist-test]]     free disk space wanted here (default 6)
#
# Wanted: a C compiler and linker, MariaDB's server and client programs, Rust. On Debian and its
# derivatives apt installs them, as root or through sudo; elsewhere this says what to install.
# Of MariaDB's server only the -core package is taken: it holds the programs, and no service that
# would start a server of the system's own. Asks nothing, removes nothing, and is done at once when all is there.
# A build alone wants no server.
# The demo does without what only tests and benchmarks need; tests want a plugin of the server too.
set -eu

cd "$(dirname "$0")/.."
gigabytes=${1:-6}
purpose=${2:-all}

say() { printf '%s\n' "$*" >&2; }
fail() { for line in "$@"; do say "$line"; done; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

PATH=$PATH:/usr/sbin:/usr/local/sbin:$HOME/.cargo/bin

# --- What is missing -------------------------------------------------------------------------

missing=
have cc || missing="$missing gcc libc6-dev"
case $purpose in build | dist-*) servers= ;; *) servers=yes ;; esac
if [ -n "$servers" ]; then
    have mariadbd && have mariadb-install-db && have innochecksum ||
        missing="$missing mariadb-server-core"
    have mariadb && have my_print_defaults || missing="$missing mariadb-client-core"
fi
# Tests replay what these two write.
if [ "$purpose" != demo ] && [ -n "$servers" ]; then
    have mariadb-dump || missing="$missing mariadb-client"
    have mydumper || [ ! -e /etc/debian_version ] || missing="$missing mydumper"
    # Loads by ssh. Under systemd the package would start a service, so that there it is for users to install.
    if [ "$purpose" = test ] && [ -e /etc/debian_version ] && [ ! -d /run/systemd/system ]; then
        have sshd && have ssh || missing="$missing openssh-server openssh-client"
    fi
    # Kills loads at each system call, in the soak.
    have strace || [ ! -e /etc/debian_version ] || missing="$missing strace"
fi
# Packages are built by Python's and Debian's programs; those for ARM also want its binutils and an emulator.
case $purpose in
dist-*)
    have objdump || missing="$missing binutils"
    have rpmbuild || [ ! -e /etc/debian_version ] || missing="$missing rpm"
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv" ;;
esac
case $purpose in
dist-aarch64)
    have aarch64-linux-gnu-strip || missing="$missing binutils-aarch64-linux-gnu"
    have qemu-aarch64-static || missing="$missing qemu-user-static"
    [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || missing="$missing libc6-arm64-cross" ;;
dist-test)
    have debootstrap || missing="$missing debootstrap"
    have buildah || missing="$missing buildah" ;;
esac
# cargo fetches crates over https.
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ ! -e /etc/debian_version ] ||
    missing="$missing ca-certificates"

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

# A rustc of rustup's says no version as long as rustup has no default toolchain.
rust_runs() { have cargo && have rustc && rustc --version >/dev/null 2>&1; }

rust_is_new_enough() {
    rust_runs || return 1
    seen=$(rustc --version | sed 's/^rustc \([0-9]*\)\.\([0-9]*\).*/\1 \2/')
    set -- $seen $(printf '%s' "$rust_wanted" | tr . ' ')
    [ "$1" -gt "$3" ] || { [ "$1" -eq "$3" ] && [ "$2" -ge "$4" ]; }
}

# --- Installing it ---------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif have sudo; then sudo "$@"
    else fail "No right to install packages. Run this as root, then try again:" "    $*"
    fi
}

apt_updated=
apt_install() {
    if [ -z "$apt_updated" ]; then
        as_root apt-get update -q
        apt_updated=yes
    fi
    say "Installing:$(printf ' %s' "$@")"
    # MariaDB's programs conflict with a MySQL server that is installed.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --no-remove "$@" ||
        fail "apt has not installed:$(printf ' %s' "$@"). Where it would remove others, such as a MySQL server," \
            "tests and the demo need another machine or a container; make build needs no server."
}

if [ -n "$missing" ]; then
    have apt-get || fail \
        "Missing, by their Debian names:$missing" \
        "This system has no apt. Please install, by your system's own means:" \
        "  - a C compiler (cc)" \
        "  - MariaDB 10.11: mariadbd, mariadb-install-db, innochecksum, mariadb, mariadb-dump, my_print_defaults" \
        "    (Fedora: mariadb-server mariadb; Arch: mariadb; macOS is not supported yet)"
    # shellcheck disable=SC2086
    apt_install $missing
fi

# --- Plugins and a program for tests -----------------------------------------------------------

# Tests encrypt tables and make backups. On Debian the plugin for the one is in the package that brings
# the service, so it is unpacked into the build folder with the program for the other, and nothing is
# installed.
plugins=${CARGO_TARGET_DIR:-target}/plugins
# Package, folder in it and the number of folders above that.
unpack() {
    version=$(dpkg-query -W -f='${Version}' mariadb-server-core)
    folder=$(mktemp -d)
    chmod 755 "$folder"
    (cd "$folder" && apt-get -o APT::Sandbox::User="$(id -un)" download -q "$1=$version") || return 1
    mkdir -p "$plugins"
    dpkg-deb --fsys-tarfile "$folder/$1"_*.deb |
        tar -x -C "$plugins" --strip-components="$3" --no-same-owner "$2"
    rm -rf "$folder"
}
unpack_plugins() { unpack mariadb-server ./usr/lib/mysql/plugin 5; }
unpack_spider() { unpack mariadb-plugin-spider ./usr/lib/mysql/plugin/ha_spider.so 5; }
unpack_backup() { unpack mariadb-backup ./usr/bin/mariadb-backup 3; }
if [ "$purpose" = test ] && have dpkg-query && ! have mariadb-backup && [ ! -e "$plugins/mariadb-backup" ]; then
    say "Unpacking mariadb-backup into $plugins, for tests"
    unpack_backup || { as_root apt-get update -q && unpack_backup; } ||
        fail "Tests need mariadb-backup: install the package of that name."
fi
if [ "$purpose" = test ] && have dpkg-query && [ ! -e "$plugins/file_key_management.so" ]; then
    own=$(mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
    if [ ! -e "$own/file_key_management.so" ]; then
        say "Unpacking the server's plugins into $plugins, for tests"
        unpack_plugins || { as_root apt-get update -q && unpack_plugins; } ||
            fail "Tests need the plugin file_key_management of MariaDB: install mariadb-server."
    fi
fi

case $purpose in test | cluster)
    own=$(mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
    if have dpkg-query && [ ! -e "$own/ha_spider.so" ] && [ ! -e "$plugins/ha_spider.so" ]; then
        say "Unpacking the storage engine Spider into $plugins"
        unpack_spider || { as_root apt-get update -q && unpack_spider; } ||
            say "Tables of shards want the plugin Spider of MariaDB: install mariadb-plugin-spider."
    fi ;;
esac

if ! rust_is_new_enough; then
    if rust_runs; then say "Rust $rust_wanted or newer is needed; this is $(rustc --version)."; fi
    # Debian 13 and later have it.
    if ! have rustup && have apt-cache && apt-cache policy rustup | grep -q 'Candidate: [0-9]'; then
        apt_install rustup
    fi
    have rustup || fail \
        "Rust $rust_wanted or newer is needed, and no package of this system has it." \
        "Install it from https://rustup.rs (needs curl, but no root):" \
        "    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal -c rustfmt -c clippy" \
        "and run this again."
    rust_runs || say "rustup has no default toolchain yet: it gets stable."
    # One that is there already may be new enough.
    if rustup toolchain list | grep -q '^stable'; then rustup default stable; fi
    if ! rust_is_new_enough; then
        rustup toolchain install --no-self-update stable --profile minimal -c rustfmt -c clippy
        rustup default stable
    fi
fi

has_lints() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }
if [ "$purpose" != demo ] && [ -n "$servers" ] && ! has_lints; then
    have rustup || fail "cargo fmt or cargo clippy is missing; install rustfmt and clippy."
    rustup component add rustfmt clippy
fi

# --- Room to work ----------------------------------------------------------------------------

free_kib=$(df -Pk . | awk 'NR == 2 { print $4 }')
if [ "$free_kib" -lt $((gigabytes * 1000 * 1000)) ]; then
    fail "This needs about $gigabytes GB of free disk space at $(pwd), and there are $((free_kib / 1000000)) GB." \
        "Free some, or set CARGO_TARGET_DIR to a folder with more room."
fi
