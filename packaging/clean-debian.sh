# Runs in a clean Debian, as packaging/test.sh starts it: the .deb, then the wheel.
set -eu

apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Check-Valid-Until=false "$@" >/tmp/apt.log 2>&1 ||
    { cat /tmp/apt.log >&2; exit 1; }; }
expect() { [ "$2" = "$3" ] || { echo "$1: '$2', expected '$3'" >&2; exit 1; }; }
as_user() { su - user -c "$1"; }

apt update
# With what it recommends, as apt does it for a user.
apt install --yes /tmp/inrush_*.deb
command -v rustc cc && { echo 'this Debian is not clean' >&2; exit 1; }
useradd --create-home user

examples=/usr/share/doc/inrush/docs/examples
rows=$(($(wc -l <$examples/orders.csv) - 1))
as_user "inrush load $examples/orders.csv --into demo.orders --create"
expect 'rows of the .deb' "$(as_user "inrush sandbox sql 'SELECT COUNT(*) FROM demo.orders'" | tail -n 1)" "$rows"
as_user "inrush export demo.orders -o orders.parquet && inrush load orders.parquet --into demo.again --create"
expect 'rows of the export' "$(as_user "inrush sandbox sql 'SELECT COUNT(*) FROM demo.again'" | tail -n 1)" "$rows"
as_user 'inrush sandbox stop'
for page in inrush inrush-load inrush-jobs-list; do
    [ -s "/usr/share/man/man1/$page.1.gz" ] || { echo "no man page $page" >&2; exit 1; }
done
bash -n /usr/share/bash-completion/completions/inrush

apt install --yes --no-install-recommends python3-venv
apt purge --yes inrush
[ ! -e /usr/bin/inrush ]
as_user 'python3 -m venv env' && as_user "PIP_CERT=$PIP_CERT env/bin/pip install -q /tmp/inrush-*.whl polars"
as_user 'env/bin/inrush --version'
as_user 'env/bin/python /tmp/clean-debian.py'
as_user 'env/bin/inrush sandbox stop'
