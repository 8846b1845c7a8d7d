#? ./run test clients [NAME...]
#?     client libraries for Python, JavaScript, Java, Rust and Go, kubectl, Helm, kustomize, an operator and a console, fetched and built on demand
#?     (three quarters of an hour of processor time)

# What they need is fetched and compiled once for each version and kept with the clients of ./run clients.
test_clients() { # [name...]
    local client script
    need_cluster
    for client in kubectl-1.20 kubectl-new; do
        [ ! -x $TOOLS/$client ] || step "$client starts" $TOOLS/$client version --client || return 1
    done
    [ ! -x $TOOLS/helm ] || step "helm starts" $TOOLS/helm version || return 1
    for script in tests/clients/*/build.sh; do
        build_library "$(basename "$(dirname "$script")")"
    done
    say "clients of others"
    run_cluster_tests clients "$@"
}

build_library() { # name
    local folder=tests/clients/$1 kept files
    mapfile -t files < <(find "$folder" -type f | LC_ALL=C sort)
    kept=$(kept_for "library-$1" "${files[@]}")
    if ! [ -d "$kept" ]; then
        if { [ -f "$folder/go.mod" ] || [ -f "$folder/module.txt" ]; } && ! has_go; then
            say "- $1 is left out: no Go toolchain (1.21 or newer)"
            return 0
        fi
        [ ! -f "$folder/packages.txt" ] || ensure_packages "$(cat "$folder/packages.txt")"
        rm -rf "$kept.part"
        mkdir -p "$kept.part"
        step "build the checks in $1 (once)" "$folder/build.sh" "$kept.part" ||
            fail "could not build the checks in $1" "check that the registry of its packages is reachable"
        mv "$kept.part" "$kept"
    fi
    mkdir -p $TOOLS/clients
    ln -sfn "$kept" "$TOOLS/clients/$1"
}
