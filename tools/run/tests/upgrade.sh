#? ./run test upgrade OLD [NAME...]
#?     OLD, a program or a commit that is then built, next to this tree's: three servers and their nodes, and a single server, are replaced one by one
#?     in both directions, while pods run and clients watch and write
#? ./run test upgrade --record VERSION OLD [--plain-secrets]
#?     what OLD stores and how it answers, for tests/upgrade/kept: every later version is tested with it

test_upgrade() { # [--record version] program-or-commit [name...]
    local record=() old
    if [ "${1:-}" = --record ]; then
        [ $# -ge 3 ] || fail "a version and a program are needed" "./run test upgrade --record VERSION OLD"
        record=("$2")
        shift 2
    fi
    [ $# -ge 1 ] || fail "no older program is named" "./run test upgrade OLD, where OLD is a program or a commit"
    need_cluster
    unpack_tools etcd etcdctl
    old=$1
    [ -f "$old" ] || build_commit "$old" old
    shift
    if [ ${#record[@]} -gt 0 ]; then
        step "record ${record[0]}" as_root env "PORTHOLE=$(realpath "$old")" python3 tests/upgrade/record.py "${record[0]}" "$@"
        return
    fi
    say "upgrade from $old"
    with_cluster env "PORTHOLE_OLD=$(realpath "$old")" python3 tools/python_tests.py tests/upgrade "$@" --results $RESULTS/upgrade.xml
}
