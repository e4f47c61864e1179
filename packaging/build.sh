#!/bin/sh
# Builds the packages of a release, in the folder dist of the build folder (make dist).
#
#   packaging/build.sh [ARCH [PROFILE]]
#
#   ARCH       x86_64 (the default) or aarch64
#   PROFILE    cargo's: release (the default); with demo the build takes half as long, and loads are slower;
#              debug builds nothing: packages of what make test built, for tests, and for this glibc only
#
# A tarball, a .deb, a .rpm, a wheel, a list of the crates inside (CycloneDX), and SHA256SUMS of them. The
# program runs with glibc 2.28 or newer: that of RHEL 8 and Debian 10. The same program and commit give the same bytes.
set -eu

cd "$(dirname "$0")/.."
ARCH=${1:-x86_64}
profile=${2:-release}
glibc=2.28
. packaging/common.sh
triple=$arch-unknown-linux-gnu
program=$target/$triple/$profile/inrush
# The driver for ADBC, for the wheel.
driver=$target/$triple/$profile/libadbc_driver_inrush.so
pack=xz
root=$dist/$arch

case $arch in
x86_64) run= strip=strip ;;
aarch64) run='qemu-aarch64-static -L /usr/aarch64-linux-gnu' strip=aarch64-linux-gnu-strip ;;
*) fail "unknown architecture: $arch (x86_64, aarch64)" ;;
esac

# --- The program -------------------------------------------------------------------------------------

build() {
    get_linker
    if ! rustc --target "$triple" --print target-libdir >/dev/null 2>&1 ||
        [ ! -d "$(rustc --target "$triple" --print target-libdir)" ]; then
        rustup target add "$triple"
    fi
    say "Building inrush $version for $triple and glibc $glibc"
    PATH=$tools/bin:$PATH cargo zigbuild --locked --profile "$profile" --target "$triple.$glibc" -p inrush -p inrush-adbc
}

if [ "$profile" = debug ]; then
    driver=$target/debug/libadbc_driver_inrush.so
    [ -e "$driver" ] || { say 'The wheel has no driver for ADBC (make test-python builds it).' && driver=; }
    program=$target/debug/inrush pack=gzip glibc=$(ldd --version | sed -n '1s/.* //p')
    [ -x "$program" ] || fail "PROFILE=debug packs what make test built, and there is no $program."
else
    build
fi
command -v rpmbuild >/dev/null || say 'The .rpm is left out, for rpmbuild is not installed (apt-get install rpm).'

# --- Its files ------------------------------------------------------------------------------------------

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
export SOURCE_DATE_EPOCH
rm -rf "$root" "$dist"/inrush[-_]"$version"[-_]*"$arch"* "$deb"
bin=$root/usr/bin doc=$root/usr/share/doc/inrush man=$root/usr/share/man/man1
mkdir -p "$bin" "$man"
$strip -o "$bin/inrush" "$program" || fail "stripping wants binutils (gcc-aarch64-linux-gnu for aarch64)"
chmod 755 "$bin/inrush"
[ "$profile" = debug ] || packaging/symbols.sh "$bin/inrush" "$glibc"
if [ -n "$driver" ]; then
    $strip -o "$dist/driver.so" "$driver"
    driver=$dist/driver.so
    [ "$profile" = debug ] || packaging/symbols.sh "$driver" "$glibc"
fi

# A man page of each command; a command with commands has one of each.
pages() {
    name=$(echo inrush "$@" | tr ' ' -)
    # shellcheck disable=SC2086
    $run "$bin/inrush" help "$@" --man >"$man/$name.1"
    # Only names of commands are printed in bold without capitals and backslashes.
    for command in $(sed -n 's/^\.B \([a-z-]*\)$/\1/p' "$man/$name.1"); do
        (pages "$@" "$command")
    done
}
pages
[ -s "$man/inrush-jobs-list.1" ] || fail "the man page of inrush jobs names no command list"
gzip -9n "$man"/*.1
complete() { mkdir -p "$(dirname "$root/$2")" && $run "$bin/inrush" completions "$1" --with-tables >"$root/$2"; }
complete bash usr/share/bash-completion/completions/inrush
complete zsh usr/share/zsh/vendor-completions/_inrush
complete fish usr/share/fish/vendor_completions.d/inrush.fish

mkdir -p "$doc"
cp -R README.md CHANGELOG.md SECURITY.md docs "$doc/"
# The code and its rules are not in the packages: links to them become words.
find "$doc" -name '*.md' -exec sed -E -i 's,\[([^]]*)\]\([^)]*(crates/|CONTRIBUTING\.md)[^)]*\),\1,g' {} +
bom=$dist/inrush-$version-$arch.cdx.json
python3 packaging/crates.py "$triple" "$bom" "$doc/THIRD-PARTY"
{ printf 'Inrush\n\n'; cat LICENSE; printf '\n\nThe crates inside it: see THIRD-PARTY.\n'; } >"$doc/copyright"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

# --- The packages -------------------------------------------------------------------------------------

archive() { tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$@"; }

name=inrush-$version-$arch-linux
archive -C "$root/usr" --transform "s,^\./,$name/," ./bin ./share | gzip -9n >"$dist/$name.tar.gz"

mkdir -p "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$deb_arch/" -e "s/@GLIBC@/$glibc/" \
    -e "s/@KIB@/$(du -sk "$root/usr" | cut -f1)/" packaging/control >"$root/DEBIAN/control"
touch -d "@$SOURCE_DATE_EPOCH" "$root/DEBIAN/control" "$root/DEBIAN"
dpkg-deb --root-owner-group "-Z$pack" --build "$root" "$deb" >/dev/null
rm -r "$root/DEBIAN"

if command -v rpmbuild >/dev/null; then
    rpmbuild --quiet -bb --target "$arch-linux" --define "_topdir $dist/rpm" --define "_rpmdir $dist" \
        --define "_build_name_fmt inrush-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "_buildhost localhost" \
        --define "version $version" --define "glibc $glibc" --define "built $root" \
        --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" packaging/inrush.spec
    rm -rf "$dist/rpm"
fi

python3 python/build_wheel.py "$bin/inrush" "$dist" ${driver:+"$driver"} >&2
rm -f "$dist/driver.so"

add_sums
say "In $dist:"
(cd "$dist" && du -h -- inrush[-_]* SHA256SUMS) >&2
