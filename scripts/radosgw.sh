#!/usr/bin/env bash
# Runs Ceph's S3 gateway (Debian's radosgw, ceph-mon, ceph-osd, ceph-common) for tests: an S3 that
# really enforces Object Lock. Everything lies in a folder of its own, in memory where it can, and
# listens on loopback only.
#
#     radosgw.sh PORT        says "ready" on standard output when it answers; access key "test",
#                            secret "testsecret", region us-east-1, path style
#
# It runs until its standard input ends, so it ends with whoever started it, however that one ends;
# then everything is killed and the folder removed.
set -euo pipefail
port="$1"
exec 3<&0 4>&1 </dev/null >&2

d="$(mktemp -d "${TMPDIR:-/tmp}/radosgw.XXXXXXXX")"
pids=()
clean() {
  trap - EXIT
  [ ${#pids[@]} -eq 0 ] || kill -9 "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$d"
}
trap clean EXIT
trap 'exit 143' TERM INT HUP
mkdir "$d"/{mon,osd,rgw,out}

# A port that nobody listens on now; the next line tells at once if somebody else took it.
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mon="$(free)"
fsid="$(cat /proc/sys/kernel/random/uuid)"
cat >"$d/ceph.conf" <<CONF
[global]
fsid = $fsid
mon initial members = a
mon host = [v2:127.0.0.1:$mon/0]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $d/keyring
auth allow insecure global id reclaim = false
mon data avail warn = 1
mon data avail crit = 1
mon allow pool size one = true
mon max pg per osd = 1000
mon cluster log file = $d/out/cluster.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
run dir = $d/out
admin socket = $d/out/\$name.\$pid.asok
log file = $d/out/\$name.log
pid file =
crash dir = $d/out
osd objectstore = memstore
memstore device bytes = 2147483648
osd memory target = 939524096
[mon]
mon data = $d/mon
[osd]
osd data = $d/osd
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:$port
rgw data = $d/rgw
rgw thread pool size = 32
rgw enable usage log = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw dynamic resharding = false
rgw override bucket index max shards = 1
rgw crypt require ssl = false
CONF
conf=(-c "$d/ceph.conf")
export CEPH_CONF="$d/ceph.conf"
osd_uuid="$(cat /proc/sys/kernel/random/uuid)"

# Every daemon signs in with a key of its own.
ceph-authtool --create-keyring "$d/keyring" --gen-key -n mon. --cap mon 'allow *'
ceph-authtool "$d/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
ceph-authtool "$d/keyring" --gen-key -n client.rgw.a --cap mon 'allow rw' --cap osd 'allow rwx' --cap mgr 'allow rw'
ceph-authtool "$d/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
cp "$d/keyring" "$d/osd/keyring"
monmaptool --create --clobber --addv a "[v2:127.0.0.1:$mon]" --fsid "$fsid" "$d/monmap"
ceph-mon "${conf[@]}" --mkfs -i a --monmap "$d/monmap" --keyring "$d/keyring"
ceph-mon "${conf[@]}" -f -i a 3<&- 4>&- &
pids+=($!)
ceph "${conf[@]}" osd create "$osd_uuid" 0 3<&- 4>&-
ceph-osd "${conf[@]}" -i 0 --mkfs --osd-uuid "$osd_uuid"
ceph "${conf[@]}" osd crush add osd.0 1.0 root=default host=localhost 3<&- 4>&-
ceph-osd "${conf[@]}" -f -i 0 3<&- 4>&- &
pids+=($!)

for _ in $(seq 600); do
  if ceph "${conf[@]}" osd stat | grep -q '1 up'; then break; fi
  sleep 0.1
done

radosgw "${conf[@]}" -f -n client.rgw.a 3<&- 4>&- &
rgw=$!
pids+=("$rgw")
for _ in $(seq 1200); do
  kill -0 "$rgw"
  if (exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then break; fi
  sleep 0.1
done
radosgw-admin "${conf[@]}" user create --uid=test --display-name=test --access-key=test --secret=testsecret >/dev/null
echo ready >&4
cat <&3
