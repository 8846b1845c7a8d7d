#include "runtime/processes/process.h"

#include <algorithm>

namespace porthole {

Result<void> check_command(const Command& command) {
    if (command.arguments.empty()) return Error(Reason::BadRequest, "a command needs a program");
    const auto has_zero = [](const std::string& text) { return text.find('\0') != text.npos; };
    const auto variable_has_zero = [&](const auto& variable) { return has_zero(variable.first) || has_zero(variable.second); };
    if (std::ranges::any_of(command.arguments, has_zero) || std::ranges::any_of(command.environment, variable_has_zero))
        return Error(Reason::BadRequest, "an argument or a variable of " + command.arguments[0].substr(0, 256) + " has a zero byte");
    return {};
}

}  // namespace porthole
