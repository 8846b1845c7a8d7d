#? ./run test devices [FOCUS]
#?     upstream's tests of dynamic resource allocation, with the driver that is a part of them

test_devices() { # [focus]
    need_upstream_tests
    say "upstream's tests of devices"
    run_upstream_tests upstream_devices/devices.py upstream-devices "$@"
}
