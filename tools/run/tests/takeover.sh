#? ./run test takeover [NAME...]
#?     takes over the etcd of upstream's control plane, while pods run, and gives it back; that control plane is built with Go on demand (ten minutes
#?     of processor time)

# Upstream's is of the version that the conformance tests are of.
test_takeover() { # [name...]
    need_go "upstream's control plane"
    need_cluster
    build_control_plane 1.36.mod upstream-1.36
    unpack_tools etcd etcdctl
    say "an etcd is taken over and given back"
    run_cluster_tests takeover "$@"
}
