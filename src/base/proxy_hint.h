#pragma once
#include <string>

namespace porthole {

/// `why`, what is known of a failure, with a remark where no connection could be made and the environment names no proxy: on a machine
/// that reaches others through one that is the usual cause. `variable` reads the environment; null where a variable is not set.
std::string with_proxy_hint(std::string why, const char* (*variable)(const char* name) = nullptr);

}  // namespace porthole
