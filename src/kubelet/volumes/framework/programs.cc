#include "kubelet/volumes/framework/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace porthole::kubelet {

Task<CommandOutput> run_program(std::vector<std::string> words, std::vector<int> also, ProcessRunner& programs) {
    const std::string text = join(words, " ");
    CO_TRY(CommandOutput ended, co_await programs.run({.arguments = std::move(words), .limit = std::chrono::minutes(10)}));
    if (ended.exit_code != 0 && std::ranges::find(also, ended.exit_code) == also.end())
        co_return Error(Reason::Io, fmt::format("\"{}\" failed: exit status {}: {}{}", text, ended.exit_code, ended.output, ended.errors));
    co_return ended;
}

Task<> run_mount(std::vector<std::string> words, ProcessRunner& programs) {
    const std::string text = fmt::format("\nMounting command: mount\nMounting arguments: {}\nOutput: ", join(words, " "));
    words.insert(words.begin(), "mount");
    CO_TRY(const CommandOutput ended, co_await programs.run({.arguments = std::move(words)}));
    if (ended.exit_code == 0) co_return {};
    co_return Error(Reason::Io, fmt::format("mount failed: exit status {}{}{}{}", ended.exit_code, text, ended.output, ended.errors));
}

}  // namespace porthole::kubelet
