#? ./run test etcd [TEST...]
#?     the tests of the store on etcd 3.5 and 3.6, built with Go on demand (four minutes of processor time); those of the version that Debian has are
#?     part of ./run test cluster

test_etcd() { # [test...]
    local folder kept status=0
    need_go etcd
    need_cluster
    [ $# -gt 0 ] || set -- test_etcd_store test_server_token test_store_migrate
    for folder in tests/etcd/*/; do
        folder=${folder%/}
        kept=$(kept_for etcd "$folder"/go.*)
        [ -d "$kept" ] || build_with_go "etcd ${folder##*/}" compile_go_tools "$folder" "$kept"
        say "etcd ${folder##*/} as the store"
        with_cluster env "PORTHOLE_ETCD=$kept/server" "PORTHOLE_ETCDCTL=$kept/etcdctl" \
            python3 tools/python_tests.py tests/cluster "$@" --results "$RESULTS/etcd-${folder##*/}.xml" || status=1
    done
    return $status
}
