#? ./run test simulated [HOURS [FAULT]]
#?     three servers, 20 nodes and one change per second for that many simulated hours (default 1), with one kind of fault after the other; a process
#?     for each processor, ten hours to a seed; PORTHOLE_SEED repeats a run exactly; FAULT selects faults by a part of their name

# Optimised, as a simulated hour of the quick build takes minutes.
test_simulated() { # hours, a part of the name of the only faults; PORTHOLE_SEED chooses
    ensure_packages "$BUILD_PACKAGES"
    build_targets release three_servers
    step "${1:-1} simulated hours of three servers" python3 tests/simulation/run_simulated.py build/release/tests/three_servers \
        --hours "${1:-1}" --seed "${PORTHOLE_SEED:-$RANDOM}" --fault "${2:-}"
}
