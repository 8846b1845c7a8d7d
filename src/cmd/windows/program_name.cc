#include <algorithm>

#include "base/strings.h"
#include "cmd/windows/roles.h"

namespace porthole::cmd {

std::string program_name(std::string_view path) {
    const std::size_t last = path.find_last_of("\\/:");
    std::string name = to_lower(last == path.npos ? path : path.substr(last + 1));
    if (name.ends_with(".exe")) name.resize(name.size() - 4);
    return name;
}

}  // namespace porthole::cmd
