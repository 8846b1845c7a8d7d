#pragma once
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// Who managedFields says has made a change whose sender names no field manager: the program of a User-Agent, which is what stands
/// before its first "/", without what cannot be printed, at most 128 bytes. "" when nothing is left.
std::string manager_of_user_agent(std::string_view agent);

}  // namespace porthole::apiserver
