#pragma once
#include <string>

namespace porthole {

/// `why`, the text of a failure. If no connection could be made and the environment names no proxy, a remark about proxies is added: on a
/// machine that reaches others through a proxy, that is the usual cause. `variable` reads an environment variable; null if it is not set.
std::string with_proxy_hint(std::string why, const char* (*variable)(const char* name) = nullptr);

}  // namespace porthole
