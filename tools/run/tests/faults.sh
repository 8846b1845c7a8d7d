#? ./run test faults [MINUTES]
#?     clients of three servers on a three-member etcd, while machines are killed, paused or cut off, disks are full or clocks wrong (default 5
#?     minutes); PORTHOLE_SEED chooses the order, PORTHOLE_FAULT selects faults by a part of their name

# Mounts, network namespaces and processes are those of namespaces of its own, which end with it.
test_faults() { # [minutes]
    ensure_packages "$BUILD_PACKAGES" "$RUNTIME_PACKAGES" "$TEST_PACKAGES" "$FAULT_PACKAGES"
    build_targets dev porthole fault_clients
    unpack_tools etcd etcdctl
    say "faults of three servers"
    as_root env "PORTHOLE=$PWD/build/dev/bin/porthole" unshare --mount --pid --fork --kill-child --mount-proc \
        python3 tests/faults/run_faults.py --minutes "${1:-5}" ${PORTHOLE_SEED:+--seed "$PORTHOLE_SEED"} ${PORTHOLE_FAULT:+--fault "$PORTHOLE_FAULT"} \
        --results $RESULTS/faults.xml </dev/null
}
