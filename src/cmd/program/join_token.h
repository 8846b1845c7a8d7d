#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::cmd {

/// The flags by which a joining program is given its bootstrap token. A command line can be read by every user of the machine, and who
/// knows the token can become any node while it is valid.
struct JoinToken {
    std::string token, file;

    /// Adds --token-file and --token.
    void add_flags(CLI::App& app);
    /// The token: that of the flag, or the first word of the file; "-" is standard input. Error: BadRequest, with the remedy.
    Result<std::string> read() const;
};

/// The flags by which it is given the API servers (one or more, also by comma), and where the node's own way to them is. Both outlive
/// `app`.
void add_api_server_flags(CLI::App& app, std::vector<std::string>& servers, std::uint16_t& balancer_port);

/// Overwrites the value of --token in a program's own arguments, so that others stop seeing it (on Linux, where they do). What was copied
/// before stays.
void hide_token(std::span<char*> words);

}  // namespace porthole::cmd
