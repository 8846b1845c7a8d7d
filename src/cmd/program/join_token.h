#pragma once
#include <CLI/App.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace porthole::cmd {

/// The flags for the bootstrap token of a joining program. Every user of the machine can read a command line, and anyone who knows the
/// token can join as any node while it is valid.
struct JoinToken {
    std::string token, file;

    /// Adds --token-file and --token.
    void add_flags(CLI::App& app);
    /// The token: that of the flag, or the first word of the file; "-" is standard input. Error: BadRequest with the remedy.
    Result<std::string> read() const;
};

/// The flags for the API servers (one or more, also by comma), and for the address of the node's balancer. Both outlive `app`.
void add_api_server_flags(CLI::App& app, std::vector<std::string>& servers, std::uint16_t& balancer_port);

/// Overwrites the value of --token in the program's own arguments, so that other users no longer see it (Linux only). Earlier copies are
/// not affected.
void hide_token(std::span<char*> words);

}  // namespace porthole::cmd
