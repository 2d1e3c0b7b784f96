#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep as an array of a real one-node Slurm: one task is killed, submitted again, the merge reports what is missing, then is the same
# as a local run. Daemons are plain processes of this test, in a folder of its own.
. "$SRC/tests/support/cli.sh"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch squeue sinfo scancel; do
    command -v $program >/dev/null || { echo "$program is not here"; exit 77; }
done
D=$(mktemp -d /tmp/npusim-slurm.XXXX)
port=$((20000 + RANDOM % 10000))
pids=()
stop() {
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do kill "${pids[$i]}" 2>/dev/null && wait "${pids[$i]}" 2>/dev/null; done
    rm -rf "$D" "$folder"
}
trap stop EXIT
mkdir -p "$D/state" "$D/spool" "$D/log"
chmod 755 "$D"
head -c 1024 /dev/urandom >"$D/key"
chmod 400 "$D/key"
host=$(hostname -s)
cat >"$D/slurm.conf" <<END
ClusterName=npusim
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$D/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1,sched_min_interval=0,defer
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
ReturnToService=2
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool
SlurmctldPidFile=$D/slurmctld.pid
SlurmdPidFile=$D/slurmd.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.log
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$D/slurm.conf
munged --force --foreground --key-file="$D/key" --socket="$D/munge.socket" --pid-file="$D/munged.pid" --log-file="$D/log/munged.log" \
    --seed-file="$D/seed" --num-threads=2 >"$D/log/munged.out" 2>&1 &
pids+=($!)
for _ in $(seq 100); do [ -S "$D/munge.socket" ] && break; sleep 0.05; done
slurmctld -D -f "$D/slurm.conf" >"$D/log/ctld.out" 2>&1 &
pids+=($!)
slurmd -D -f "$D/slurm.conf" >"$D/log/slurmd.out" 2>&1 &
pids+=($!)
for _ in $(seq 400); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.05; done
sinfo -h -o %T 2>/dev/null | grep -q idle || { tail -n 3 "$D"/log/*; echo 'no node came up: Slurm cannot run here'; exit 77; }

# wait_for JOB: until all its tasks have ended, however they did.
wait_for() { timeout 120 srun --quiet --dependency="afterany:$1" true || fail "job $1 does not end"; }
cat >s.yaml <<'END'
run: flash_attention
with: {seq: 1024, heads: 1}
axes: {sram.size: [512KiB, 1MiB], tile_q: {pow2: [16, 128]}, tile_kv: {pow2: [16, 128]}}
END
"$NPUSIM" sweep run s.yaml -q -o local >/dev/null || fail 'the local run'
"$NPUSIM" sweep submit s.yaml -o cluster --slurm --shards 3 --array-limit 1 -j 1 >out 2>err || fail "submit: $(cat err)"
array=$(sed -n 's/^job \([0-9]*\), 3 shards; job [0-9]* merges.*/\1/p' out) merge=$(sed -n 's/^job.*; job \([0-9]*\) merges.*/\1/p' out)
[ -n "$array" ] && [ -n "$merge" ] || fail "submit says: $(cat out)"
# The first task is killed while it runs.
for _ in $(seq 600); do [ "$(cat cluster/points-1-3-* 2>/dev/null | wc -l)" -ge 2 ] && break; sleep 0.05; done
scancel --signal=KILL "${array}_1"
scancel --signal=KILL --full "${array}_1" 2>/dev/null
wait_for "$array"
wait_for "$merge"
log=cluster/slurm-merge-$merge.log
grep -Eq '[0-9]+ of 32 points are missing' "$log" || fail "the merge does not tell what is missing: $(cat "$log")"
# Submitted again, alone: n is in the script.
again=$(sbatch --parsable --array=1 cluster/array.sbatch) || fail 'the killed task is not taken again'
wait_for "$again"
"$NPUSIM" sweep merge cluster --csv cluster.csv >/dev/null 2>err || fail "merge: $(cat err)"
"$NPUSIM" sweep merge local --csv local.csv >/dev/null
cmp local.csv cluster.csv || fail 'the array ends otherwise than a local run'
checks=5
[ $failures = 0 ] && echo "$checks checks of a sweep under Slurm"
[ $failures = 0 ]
