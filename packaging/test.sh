#!/bin/sh
# Installs the .deb and the wheel of packaging/build.sh on a clean Debian 12 without Rust, as a new user would,
# and loads rows with each. Wants root and debootstrap.
#
#   packaging/test.sh
set -eu

cd "$(dirname "$0")/.."
. packaging/common.sh

(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
clean_debian "$work/base"
root=$work/root
rm -rf "$root"
cp -a "$work/base" "$root"
trap 'rm -rf "$root"' EXIT
cp "$deb" "$dist"/inrush-"$version"-py3-*"$arch".whl packaging/clean-debian.sh packaging/clean-debian.py "$root/tmp/"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Where this machine reaches the registries by authorities of its own.
cp /etc/ssl/certs/ca-certificates.crt "$root/tmp/authorities.crt"
# All that was started there ends with the shell.
unshare --mount --pid --fork -- sh -eu -c '
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/dev"
    for device in null zero random urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
    mkdir "$1/dev/shm"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PIP_CERT=/tmp/authorities.crt sh /tmp/clean-debian.sh
' sh "$root"
say 'The .deb and the wheel work on a clean Debian 12.'
