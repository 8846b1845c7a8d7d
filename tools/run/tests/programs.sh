#? ./run test programs [NAME...]
#?     third-party Windows programs, such as databases and web servers, on an emulated Windows node, fetched on demand (1.2 GB);
#?     PORTHOLE_WINE_ROOT=DIR: with another Wine than the installed one in containers

test_programs() { # [name...]
    has_go || say "- programs that are compiled from Go modules are left out: no Go toolchain (1.21 or newer)"
    ensure_packages "$PROGRAM_PACKAGES"
    step "fetch Windows programs (once)" python3 tests/programs/sources.py fetch "$@" ||
        fail "could not fetch the Windows programs" "check that the registry of their packages is reachable"
    run_programs "$@"
}

run_programs() { # [name...]
    local status=0
    need_cluster
    run_build windows
    unpack_tools docker-registry
    say "Windows programs"
    with_cluster env "PORTHOLE_CACHE=$CACHE" python3 tools/python_tests.py tests/programs "$@" --results $RESULTS/programs.xml || status=1
    [ ! -f $RESULTS/programs.tsv ] || column -t -s $'\t' $RESULTS/programs.tsv
    return $status
}

# Nothing is fetched here: what is not in the cache is not counted.
test_tenth_of_programs() { # hash
    local cases names
    cases=$(python3 tests/programs/sources.py list) || return 1
    mapfile -t names < <(awk -v tenth=$((16#$1 / 6 % 10)) 'NF && NR % 10 == tenth' <<<"$cases")
    if [ ${#names[@]} -gt 0 ]; then
        run_programs "${names[@]}"
    else
        say "- the Windows programs are left out: they are not in the cache ($CLIENT_CACHE); ./run test programs fetches them"
    fi
}
