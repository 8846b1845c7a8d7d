#? ./run test packages [NAME...]
#?     the files that ./run package has made, in bare Debian 11, 12 and 13 systems from the mirror

test_packages() { # [name...]
    need_packages
    ensure_packages "$INSTALL_PACKAGES"
    step "packages in bare Debian systems" as_root python3 tools/python_tests.py tests/packages "$@" --results $RESULTS/packages.xml
}

need_packages() { [ -f build/packages/SHA256SUMS ] || fail "there are no packages" "make them with ./run package"; }
