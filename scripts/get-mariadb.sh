#!/bin/sh
# Unpacks the MariaDB of another Debian release, to test with; installs nothing.
#
#   scripts/get-mariadb.sh FOLDER [SUITE]     SUITE: a Debian release (default trixie: MariaDB 11.8)
#
# FOLDER gets the layout of a binary tarball: bin/mariadbd and the rest, scripts/, share/, lib/. The
# programs run with the C library they came with, so the release here does not matter. The packages
# come from the Debian mirror that apt uses here. Wanted: apt-get, dpkg-deb. No root.
set -eu

folder=${1:?usage: scripts/get-mariadb.sh FOLDER [SUITE]}
suite=${2:-trixie}

fail() { printf '%s\n' "$*" >&2; exit 1; }

[ ! -x "$folder/bin/mariadbd" ] || { "$folder/bin/mariadbd" --no-defaults --version; exit 0; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
work=$folder/apt
rm -rf "$root" "$work"

# --- What apt is told: this mirror and suite, and that nothing is installed --------------------

mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n 's/^Debian //p' | grep -v security | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -n "$mirror" ] || mirror=http://deb.debian.org/debian
[ -e "$keys" ] || fail "$keys is missing: install debian-archive-keyring"

mkdir -p "$work/lists/partial" "$work/archives/partial" "$root"
: >"$work/status"
echo "deb [signed-by=$keys] $mirror $suite main" >"$work/sources.list"
apt() {
    program=$1
    shift
    "$program" -qq \
        -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" \
        -o Dir::Cache="$work" -o Dir::Cache::Archives="$work/archives" \
        -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@"
}

# --- Unpacking -----------------------------------------------------------------------------------

echo "Fetching the packages of MariaDB in Debian $suite from $mirror" >&2
apt apt-get update
# With an empty list of what is installed, this is everything they need, the C library too.
apt apt-get -y --no-install-recommends --download-only install \
    mariadb-server-core mariadb-client-core mariadb-server mariadb-backup >"$work/log" 2>&1 ||
    fail "$(tail -n 5 "$work/log")"
for dir in bin sbin lib lib64; do
    mkdir -p "$root/usr/$dir"
    ln -s "usr/$dir" "$root/$dir"
done
for package in "$work"/archives/*.deb; do
    case ${package##*/} in
        perl* | libperl* | *-perl_* | debconf* | galera* | rsync* | socat* | adduser* | passwd*) continue ;;
    esac
    dpkg-deb --fsys-tarfile "$package" |
        tar -x -C "$root" --keep-directory-symlink --no-same-owner \
            --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
done

# --- The tarball's layout, each program started by the loader it came with ---------------------------

libraries=$(dirname "$(find "$root/usr/lib" -name libc.so.6 | head -n 1)")
loader=$(find "$root/usr/lib64" "$libraries" -name 'ld-linux*.so*' | head -n 1)
[ -e "$loader" ] || fail "no C library among the packages of $suite"
mkdir -p "$folder/bin" "$folder/scripts" "$folder/share" "$folder/lib"
for program in mariadbd mariadb mariadb-admin mariadb-upgrade mariadb-check mariadb-dump \
    mariadb-tzinfo-to-sql my_print_defaults innochecksum resolveip mariadb-backup; do
    file=$root/usr/bin/$program
    [ -e "$file" ] || file=$root/usr/sbin/$program
    [ -e "$file" ] || continue
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$file" \
        >"$folder/bin/$program"
    chmod +x "$folder/bin/$program"
done
ln -s bin "$folder/sbin"
ln -s ../root/usr/share/mariadb "$folder/share/mariadb"
ln -s ../root/usr/lib/mysql "$folder/lib/mysql"
cp "$root/usr/bin/mariadb-install-db" "$folder/scripts/"
rm -rf "$work"
"$folder/bin/mariadbd" --no-defaults --version
