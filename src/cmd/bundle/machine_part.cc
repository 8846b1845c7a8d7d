#include "cmd/bundle/machine_part.h"

namespace porthole::cmd::bundle {
namespace {

constexpr Duration LongestRun = std::chrono::seconds(20);
constexpr std::uint64_t LogEnd = 4 << 20;  ///< bytes of a log that are taken
constexpr int MostFolders = 4;             ///< below each other

Result<void> add_log(FileSystem& files, Writer& writer, const std::string& path, const std::string& name, std::uint64_t size) {
    const std::uint64_t from = size > LogEnd ? size - LogEnd : 0;
    auto text = files.read_untrusted(path, from, LogEnd);
    if (!text) {
        writer.note(name, text.error().message);
        return {};
    }
    if (from > 0) text->erase(0, std::min(text->find('\n'), text->size() - 1) + 1);  // whole lines
    return writer.add_text(name, std::move(*text));
}

Result<void> add_logs_below(FileSystem& files, Writer& writer, const std::string& directory, const std::string& folder, int depth) {
    const auto names = files.list(directory);
    if (!names) {
        writer.note(folder, names.error().message);
        return {};
    }
    for (const std::string& name : *names) {
        const std::string path = join_path(directory, name);
        const auto there = files.link_status(path);
        if (!there || name.starts_with("audit")) continue;
        if (there->is_directory() && depth < MostFolders) TRY_VOID(add_logs_below(files, writer, path, folder + "/" + name, depth + 1));
        if (there->is_regular() && name.find(".log") != std::string::npos)
            TRY_VOID(add_log(files, writer, path, folder + "/" + name, there->size));
    }
    return {};
}

}  // namespace

Task<> add_machine(ProcessRunner& processes, Writer& writer, std::vector<MachineFact> facts, std::string folder,
                   std::string network_namespace, bool only_network) {
    for (MachineFact& fact : facts) {
        if (only_network && !fact.of_network) continue;
        const std::string name = folder + "/" + fact.file;
        const auto ran = co_await processes.run({.arguments = std::move(fact.command),
                                                 .environment = {{"LC_ALL", "C"}},
                                                 .network_namespace = fact.of_network ? network_namespace : "",
                                                 .limit = LongestRun});
        if (is_cancelled(ran)) co_return ran.error();
        if (!ran) {
            writer.note(name, ran.error().message);
            continue;
        }
        if (ran->exit_code != 0) writer.note(name, "exit code " + std::to_string(ran->exit_code));
        CO_TRY_VOID(writer.add_text(name, ran->output + ran->errors));
    }
    co_return {};
}

Result<void> add_logs(FileSystem& files, Writer& writer, const std::string& directory, const std::string& folder) {
    return add_logs_below(files, writer, directory, folder, 0);
}

}  // namespace porthole::cmd::bundle
