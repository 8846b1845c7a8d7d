#? ./run test foreign [NAME...]
#?     emulated Windows nodes in clusters of upstream's 1.20 and newest control plane, built with Go on demand (half an hour of processor time each)

test_foreign() { # [name...]
    need_go "upstream's control planes"
    need_cluster
    run_build windows
    build_control_plane oldest.mod upstream-1.20
    build_control_plane go.mod upstream-newest
    unpack_tools etcd
    say "tests in foreign clusters"
    run_cluster_tests foreign "$@"
}
