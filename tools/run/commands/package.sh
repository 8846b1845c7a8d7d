#? ./run package
#?     Debian packages, tarballs and the Windows zip, in build/packages; all changes must be committed
#? ./run package --check
#?     builds everything twice, the second time elsewhere and without ccache, and compares the packages' bytes

run_package() { # [--check]
    [ "${1:-}" != --check ] || [ -z "${PORTHOLE_SIGN_COMMAND:-}" ] ||
        fail "a signature differs each time: --check compares packages without one" "unset PORTHOLE_SIGN_COMMAND"
    ensure_packages "$BUILD_PACKAGES" "$WINDOWS_PACKAGES" "$PACKAGE_PACKAGES"
    [ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed" "commit them: packages are named for a commit"
    step "security updates of linked libraries" python3 tools/check_updates.py || fail "a library has a security update" "see above"
    run_build
    build_kubectl
    step "make the packages" make_packages . build/packages || fail "the packages cannot be made" "see above"
    [ "${1:-}" = --check ] && check_packages
    return 0
}

make_packages() { # folder-with-builds output
    local kubectl=()
    [ ! -x $TOOLS/kubectl-new ] || kubectl=(--kubectl $TOOLS/kubectl-new)
    python3 packaging/linux/package.py "$2" --build "$1/build/release" --windows "$1/build/windows" \
        --windows-prefix "$(cmake/windows/build_dependencies.sh)" --static-prefix "$(cmake/static/build_dependencies.sh)" "${kubectl[@]}"
}

# The same commit, built in another folder from nothing.
check_packages() (
    local again
    again=$(mktemp -d)
    trap 'rm -rf "$again"' EXIT
    git archive HEAD | tar -x -C "$again"
    (cd "$again" && CCACHE_DISABLE=1 ./run build) || fail "the second build failed" "see above"
    step "make the packages again" make_packages "$again" build/packages.again
    diff -r build/packages build/packages.again || fail "two builds of one commit differ" "compare build/packages and build/packages.again with diffoscope"
    say "both builds give the same packages"
    rm -rf build/packages.again
)
