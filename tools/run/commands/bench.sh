#? ./run bench [NAME...]
#?     benchmarks, each a table, next to peers; `floods`: how the server bears attacks; `upstream`: next to upstream's API server, built with Go on
#?     demand; `scale`: many nodes; `scheduling`: only its last table

run_bench() {
    ensure_packages "$BUILD_PACKAGES" "$RUNTIME_PACKAGES" "$TEST_PACKAGES" "$BENCH_PACKAGES"
    build_targets release porthole csi_driver store_bench api_bench dns_bench scheduler_bench hns_bench lint_bench proxy_bench
    build_clients
    unpack_tools busybox etcd etcdctl nginx
    case " $* " in "  " | *" dns "*) build_platform coredns ;; esac
    case " $* " in *" upstream "*) build_control_plane 1.36.mod upstream-1.36 ;; esac
    as_root python3 bench/bench.py "$@"
}
