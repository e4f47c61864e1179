#!/bin/sh
# Builds a container image with the .deb of packaging/build.sh on Debian 12, as an OCI archive beside it, and
# runs it once. Wants root, buildah and debootstrap.
#
#   packaging/image.sh
set -eu

cd "$(dirname "$0")/.."
. packaging/common.sh
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
image=$dist/inrush-$version-$arch.oci.tar

clean_debian "$work/base"
container=$(buildah from scratch)
trap 'buildah rm "$container" >/dev/null' EXIT
buildah copy -q "$container" "$work/base" / >/dev/null
buildah copy -q "$container" "$deb" /tmp/inrush.deb >/dev/null
buildah run "$container" -- sh -c \
    'dpkg -i /tmp/inrush.deb && rm -rf /tmp/inrush.deb /var/cache/apt/archives /var/lib/apt/lists/*' >/dev/null
# Files of the caller are given as a volume, and so is the state folder, which outlives the container; servers by
# --network host, or by their name.
buildah config --entrypoint '["/usr/bin/inrush"]' --cmd --help --workingdir /data --env XDG_STATE_HOME=/state \
    --label org.opencontainers.image.title=inrush --label org.opencontainers.image.version="$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
rm -f "$image"
buildah commit -q "$container" "oci-archive:$image:inrush:$version" >/dev/null

# What was written is what runs.
stored=$(buildah pull -q "oci-archive:$image")
again=$(buildah from "$stored")
seen=$(buildah run -v "$PWD/docs/examples:/data:ro" "$again" -- /usr/bin/inrush sniff /data/orders.csv | head -n 1)
buildah rm "$again" >/dev/null
buildah rmi "$stored" >/dev/null
[ -n "$seen" ] || { echo "the image does not run: sniff printed nothing" >&2; exit 1; }
add_sums
echo "$image: $(du -h "$image" | cut -f1), runs" >&2
