#pragma once
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace porthole::apiserver {

/// Below the prefix: the version of the form that keys and values have in etcd. A build that changes the form, so that older ones would
/// misread or spoil what is there, writes its version; where there is none, it is 1.
inline constexpr std::string_view DataVersionKey = "/data-version";
inline constexpr std::uint32_t DataVersion = 1;  ///< the newest that this build knows

/// `stored` is the key's value. Error: Conflict for a newer version.
Result<void> check_data_version(std::string_view stored);

}  // namespace porthole::apiserver
