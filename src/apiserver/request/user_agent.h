#pragma once
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// The field manager of a request that names none: the program in its User-Agent, which is the part before the first "/", without
/// unprintable characters, at most 128 bytes. "" if nothing remains.
std::string manager_of_user_agent(std::string_view agent);

}  // namespace porthole::apiserver
