# For the scripts beside it, in the root of the repository: where the packages are, and a clean Debian.

arch=${ARCH:-x86_64}
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
dist=$target/dist
work=$target/dist-test
case $arch in x86_64) deb_arch=amd64 ;; aarch64) deb_arch=arm64 ;; esac
deb=$dist/inrush_${version}_$deb_arch.deb

fail() { for line in "$@"; do printf '%s\n' "$line" >&2; done; exit 1; }
say() { printf '%s\n' "$*" >&2; }

# Zig's linker knows the symbols of each release of glibc; other linkers take this machine's.
tools=$target/dist-tools
get_linker() {
    [ ! -x "$tools/bin/cargo-zigbuild" ] || return 0
    python3 -m venv "$tools" && "$tools/bin/pip" install -q ziglang==0.17.1 cargo-zigbuild==0.24.1 ||
        fail "The linker cannot be had from PyPI: ziglang 0.17.1 and cargo-zigbuild 0.24.1."
}

# A folder with Debian 12 and nothing more; that of an earlier call, if there is one.
clean_debian() {
    [ ! -e "$1/.complete" ] || return 0
    rm -rf "$1"
    mkdir -p "$1"
    say "Unpacking Debian 12 into $1"
    debootstrap --variant=minbase bookworm "$1" >"$1.log" 2>&1 || fail "debootstrap failed: see $1.log"
    touch "$1/.complete"
}

# The list of what is in the folder of packages.
add_sums() {
    (cd "$dist" && sha256sum inrush[-_]*"$version"* >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
}
