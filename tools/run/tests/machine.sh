#? ./run test machine [NAME...]
#?     the same packages in virtual machines with Debian 12 and 13: systemd, reboot, power cut; faster where /dev/kvm works

# The disks are made once, in the cache folder.
test_machine() { # [name...]
    need_packages
    ensure_packages "$BUILD_PACKAGES" "$INSTALL_PACKAGES" "$MACHINE_PACKAGES"
    build_targets release csi_driver
    unpack_tools busybox
    say "tests in virtual machines"
    as_root env "PORTHOLE_CACHE=$CACHE" python3 tools/python_tests.py tests/machine "$@" --results $RESULTS/machine.xml </dev/null
}
