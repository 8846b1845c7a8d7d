#pragma once
#include "cmd/program/flags.h"

namespace porthole::cmd {

/// For check() of an option: whether the value is a port that clients can be told.
inline CLI::Validator is_port() {
    return CLI::Validator(
        [](const std::string& text) {
            const bool digits = !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
            const int port = digits ? std::stoi(text) : 0;
            return port >= 1 && port <= 65535 ? "" : "a port from 1 to 65535 is expected, not " + text;
        },
        "");
}

}  // namespace porthole::cmd
