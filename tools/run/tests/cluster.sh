#? ./run test cluster [NAME...]
#?     end to end on this machine, in a network namespace of its own; NAME selects tests

test_cluster() { # [name...]
    local part=()
    [ -z "$QUIET" ] || part=(--part "$(part_of_three)" --tries 2)
    # The build that the unit tests have made: with all checks on, and no second compilation of everything.
    run_build "$CLUSTER_BUILD"
    run_build windows
    fetch_cluster_tools
    say "cluster tests"
    run_cluster_tests cluster "$@" --at-once 4 "${part[@]}" # shown as they go: each takes seconds, and a stuck one should be seen
}

fetch_cluster_tools() {
    ensure_packages "$RUNTIME_PACKAGES" "$TEST_PACKAGES"
    build_clients
    FROM_CACHE=1 build_new_containerd
    unpack_tools busybox docker-registry etcd etcdctl
    # Its package starts a server: on a person's machine that is theirs to decide, and the tests that need it are left out.
    [ -z "$QUIET" ] || ensure_packages "openssh-server sshd"
}
