#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apiserver/resource_metrics/kubelet_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto samples = porthole::apiserver::parse_kubelet_samples({reinterpret_cast<const char*>(data), size}, 1);
    if (!samples) return 0;
    for (const auto& [pod, containers] : samples->pods)
        for (const auto& [name, point] : containers)
            if (containers.empty() || point.time <= 0 || point.cpu == 0 || point.memory == 0) __builtin_trap();
    return 0;
}
