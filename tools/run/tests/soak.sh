#? ./run test soak [ROUNDS]
#?     workloads of both systems come and go while one part of the cluster after another is killed (default 100 rounds, some ten seconds each);
#?     prints the use of resources before and after; five are part of ./run test

test_soak() { # [rounds]
    local report=$PWD/$RESULTS/soak.txt status=0
    PORTHOLE_SOAK_ROUNDS=${1:-100} PORTHOLE_SOAK_REPORT=$report test_cluster test_soak || status=1
    [ ! -f "$report" ] || cat "$report"
    return $status
}
