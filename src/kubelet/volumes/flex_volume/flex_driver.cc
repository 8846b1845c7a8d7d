#include "kubelet/volumes/flex_volume/flex_driver.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t LongestName = 253;

bool is_part(std::string_view part) {
    return !part.empty() && !part.starts_with('.') && std::ranges::all_of(part, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    });
}

std::vector<std::vector<std::string>> windows_programs(std::string path) {
    std::ranges::replace(path, '/', '\\');
    if (path.starts_with('\\')) path = "C:" + path;
    for (const std::string_view end : {".exe", ".ps1", ".cmd", ".bat"})
        if (to_lower(path).ends_with(end)) path.resize(path.size() - end.size());
    return {{path + ".exe"}, {"powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", path + ".ps1"}};
}

}  // namespace

bool is_flex_driver_name(std::string_view name) {
    const std::size_t slash = name.find('/');
    if (name.size() > LongestName) return false;
    return slash == name.npos ? is_part(name) : is_part(name.substr(0, slash)) && is_part(name.substr(slash + 1));
}

std::string flex_folder_name(std::string driver) {
    std::ranges::replace(driver, '/', '~');
    return driver;
}

Result<FlexDriver> FlexDriver::find(const std::string& directory, const std::string& name, bool windows, FileSystem& files) {
    if (!is_flex_driver_name(name)) return Error(Reason::NotFound, quote(name) + " is not the name of a FlexVolume driver");
    const std::string folder = directory.ends_with('/') || directory.ends_with('\\') ? directory : directory + "/";
    const std::string path = folder + flex_folder_name(name) + "/" + name.substr(name.find('/') + 1);
    const auto programs = windows ? windows_programs(path) : std::vector<std::vector<std::string>>{{path}};
    for (const std::vector<std::string>& program : programs)
        if (const auto status = files.status(program.back()); status && status->type == FileType::Regular) return FlexDriver(program);
    return Error(Reason::NotFound, "the node has no FlexVolume driver " + programs.front().back());
}

Task<FlexAnswer> FlexDriver::call(std::vector<std::string> words, ProcessRunner& programs) const {
    const std::string command = words.front();
    std::vector<std::string> arguments = program_;
    arguments.insert(arguments.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
    CO_TRY(const CommandOutput ended, co_await programs.run({.arguments = std::move(arguments), .limit = std::chrono::minutes(10)}));
    auto answer = parse_flex_answer(command, ended.output);
    if (answer && answer->supported && ended.exit_code != 0)
        co_return Error(Reason::Io, "the driver ended with exit status " + std::to_string(ended.exit_code) + " and reported no failure");
    co_return answer;
}

}  // namespace porthole::kubelet
