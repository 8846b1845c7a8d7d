// What a FlexVolume driver prints, and the name of one as a pod says it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "kubelet/volumes/flex_volume/flex_driver.h"

using namespace porthole::kubelet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto answer = parse_flex_answer("attach", text);
    if (answer && !answer->device.empty() && !answer->device.starts_with('/')) std::abort();
    if (!answer && answer.error().message.size() > 8192) std::abort();
    if (is_flex_driver_name(text)) {
        const std::string folder = flex_folder_name(text);
        if (folder.contains('/') || folder.contains('\\') || folder.starts_with('.')) std::abort();
    }
    return 0;
}
