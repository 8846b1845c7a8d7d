#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::kubelet {

/// The answer of a FlexVolume driver to a command.
struct FlexAnswer {
    static constexpr std::size_t Largest = 64 << 10;  ///< bytes of an answer

    bool supported = true;    ///< false: the driver does not have the command, and the other fields are meaningless
    std::string device;       ///< of attach and waitforattach: an absolute path, or ""
    bool attach = true;       ///< of init: volumes are attached to the node before they are mounted
    bool gives_group = true;  ///< of init: the kubelet applies the pod's fsGroup to the files
};

/// Parses a driver's output: a JSON object whose names are matched without regard to case, as upstream does. Errors: Io for a failed
/// command, with upstream's message; BadRequest for an invalid answer.
Result<FlexAnswer> parse_flex_answer(std::string_view command, std::string_view output);

}  // namespace porthole::kubelet
