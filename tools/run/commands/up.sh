#? ./run up [OPTION...]
#?     builds and starts a cluster on this machine, by default with one Linux and one emulated Windows node; options: ./run up --help

run_up() {
    ensure_packages "$BUILD_PACKAGES" "$WINDOWS_PACKAGES" "$RUNTIME_PACKAGES"
    # Of a cluster with several API servers only: Debian's package starts an etcd of its own as well, on 127.0.0.1:2379.
    case " $* " in *" --servers"*) ensure_packages "$SERVERS_PACKAGES" ;; esac
    run_build
    export PORTHOLE_NODES=${PORTHOLE_NODES:-linux=1,windows=1} # of a new cluster
    if [ "$(id -u)" -eq 0 ]; then
        exec build/release/bin/porthole up "$@"
    fi
    as_root env "PORTHOLE_NODES=$PORTHOLE_NODES" build/release/bin/porthole up "$@"
}
