#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::kubelet {

/// What a FlexVolume driver has answered to a command.
struct FlexAnswer {
    static constexpr std::size_t Largest = 64 << 10;  ///< bytes of an answer

    bool supported = true;    ///< whether the driver has the command; the rest says nothing where it has not
    std::string device;       ///< of attach and waitforattach: an absolute path, or ""
    bool attach = true;       ///< of init: volumes are attached to the node before they are mounted
    bool gives_group = true;  ///< of init: the kubelet gives the files to the pod's fsGroup
};

/// Reads what a driver has printed: an object of JSON whose names are looked up without regard to case, as upstream does. Errors: Io for a
/// command that failed, in upstream's words; BadRequest for what is not an answer.
Result<FlexAnswer> parse_flex_answer(std::string_view command, std::string_view output);

}  // namespace porthole::kubelet
