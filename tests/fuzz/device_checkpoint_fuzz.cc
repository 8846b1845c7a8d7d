// The file in which the kubelet remembers which container has which devices.
#include "fuzz_target.h"
#include "kubelet/device_plugins/device_allocations.h"

using namespace porthole;
using namespace porthole::kubelet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto checkpoint = parse_device_checkpoint({reinterpret_cast<const char*>(data), size});
    if (!checkpoint) return 0;
    // What was read stays as it is when it is written again.
    const auto again = parse_device_checkpoint(checkpoint_text(*checkpoint));
    fuzz::expect(again && *again == *checkpoint);
    for (const auto& [pod, containers] : checkpoint->allocations)
        for (const auto& [container, resources] : containers) {
            (void)cdi_ids(resources);
            for (const bool windows : {false, true}) {
                api::cri::v1::ContainerConfig config;
                config.envs.push_back({.key = "GPUS", .value = "own"});
                add_allocated_devices(resources, windows, config);
                fuzz::expect(config.envs.front().value == "own");
            }
        }
    return 0;
}
