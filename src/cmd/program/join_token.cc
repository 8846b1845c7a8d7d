#include "cmd/program/join_token.h"

#include <cstring>
#include <fstream>
#include <iostream>
#include <string_view>

namespace porthole::cmd {

void JoinToken::add_flags(CLI::App& app) {
    CLI::Option* named = app.add_option("--token-file", file, "a file with a token from `token create`; - for standard input");
    app.add_option("--token", token, "the token itself; other users can read it while the program starts, so prefer --token-file")
        ->excludes(named);
}

Result<std::string> JoinToken::read() const {
    if (!token.empty()) return token;
    if (file.empty()) return Error(Reason::BadRequest, "a token is needed: --token-file FILE, or - for standard input");
    std::string word;
    if (file == "-") {
        std::cin >> word;
    } else {
        std::ifstream(file) >> word;
    }
    if (word.empty()) return Error(Reason::BadRequest, "no token in " + (file == "-" ? "standard input" : file));
    return word;
}

void add_api_server_flags(CLI::App& app, std::vector<std::string>& servers, std::uint16_t& balancer_port) {
    app.add_option("server,--server", servers,
                   "API servers, separated by commas, for example https://10.0.0.5:6443; they are tried until one answers")
        ->delimiter(',')
        ->required();
    app.add_option("--balancer-port", balancer_port,
                   "port of 127.0.0.1 that forwards to a live API server; 0: the node uses the first server directly")
        ->capture_default_str();
}

void hide_token(std::span<char*> words) {
    constexpr std::string_view Flag = "--token";
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == Flag && i + 1 < words.size()) std::memset(words[i + 1], 'x', std::strlen(words[i + 1]));
        if (word.starts_with(Flag) && word.size() > Flag.size() && word[Flag.size()] == '=')
            std::memset(words[i] + Flag.size() + 1, 'x', word.size() - Flag.size() - 1);
    }
}

}  // namespace porthole::cmd
