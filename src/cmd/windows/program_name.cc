#include <algorithm>
#include <cctype>

#include "cmd/windows/roles.h"

namespace porthole::cmd {

std::string program_name(std::string_view path) {
    const std::size_t last = path.find_last_of("\\/:");
    std::string name(last == path.npos ? path : path.substr(last + 1));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name.ends_with(".exe")) name.resize(name.size() - 4);
    return name;
}

const SubCommand* find_role(std::span<const SubCommand> roles, std::string_view name) {
    const auto found = std::ranges::find(roles, name, [](const SubCommand& role) { return std::string_view(role.name); });
    return found == roles.end() ? nullptr : &*found;
}

}  // namespace porthole::cmd
