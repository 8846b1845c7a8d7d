#include "local_cluster/system_unit.h"

#include <fmt/format.h>

#include <sstream>

#include "local_cluster/state/cluster.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {
namespace {

namespace fs = std::filesystem;

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char ClusterUnit[] = {
#embed "porthole.service"
};
constexpr char AgentUnit[] = {
#embed "porthole-agent.service"
};
constexpr char ServerUnit[] = {
#embed "porthole-server.service"
};

std::string with_command(std::string unit, const std::vector<std::string>& arguments) {
    std::string line = "ExecStart=";
    for (std::size_t i = 0; i < arguments.size(); ++i) line += (i > 0 ? " " : "") + quote_for_unit(arguments[i]);
    const std::size_t start = unit.find("ExecStart=");
    return unit.replace(start, unit.find('\n', start) - start, line);
}

Task<> systemctl(ProcessRunner& processes, std::vector<std::string> words) {
    std::string text = "systemctl";
    for (const std::string& word : words) text += " " + word;
    words.insert(words.begin(), "systemctl");
    CO_TRY(const auto result, co_await processes.run({.arguments = std::move(words)}));
    if (result.exit_code != 0) co_return Error(Reason::Io, text + ": " + result.errors);
    co_return {};
}

}  // namespace

std::string quote_for_unit(const std::string& word) {
    std::string text;
    bool plain = !word.empty();
    for (const char c : word) {
        if (c == '"' || c == '\\') text += '\\';
        if (c == '%' || c == '$') text += c;  // doubled: no specifier, no variable
        const bool is_control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        if (is_control) {  // a line's end would begin another setting
            text += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else {
            text += c;
        }
        plain = plain && !is_control && c != '"' && c != '\\' && c != ' ' && c != '\t' && c != '\'' && c != ';';
    }
    return plain ? text : '"' + text + '"';
}

SystemUnit SystemUnit::cluster(const fs::path& data, const std::string& id) {
    const std::string name = data == "/var/lib/porthole" ? "porthole.service" : "porthole-" + id + ".service";
    return {name, with_command(std::string(ClusterUnit, sizeof ClusterUnit),
                               {fs::read_symlink("/proc/self/exe").string(), "supervise", "--data", data.string()})};
}

SystemUnit SystemUnit::server(const std::vector<std::string>& arguments) {
    return {"porthole-server.service", with_command(std::string(ServerUnit, sizeof ServerUnit), arguments)};
}

SystemUnit SystemUnit::agent(const std::vector<std::string>& arguments, const fs::path& environment) {
    std::string unit = with_command(std::string(AgentUnit, sizeof AgentUnit), arguments);
    if (!environment.empty()) unit.insert(unit.find("ExecStart="), "EnvironmentFile=-" + environment.string() + "\n");
    return {"porthole-agent.service", std::move(unit)};
}

Result<void> write_unit_environment(const fs::path& file, const std::map<std::string, std::string>& variables) {
    std::string text;
    for (const auto& [name, value] : variables) {
        text += name + "=\"";
        for (const char c : value) text += c == '"' || c == '\\' || c == '$' || c == '`' ? std::string{'\\', c} : std::string{c};
        text += "\"\n";
    }
    return write_durably(file, text);
}

std::map<std::string, std::string> read_unit_environment(const fs::path& file) {
    std::map<std::string, std::string> variables;
    std::istringstream lines(read_file(file).value_or(""));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find("=\"");
        if (equals == line.npos || !line.ends_with('"') || line.size() < equals + 3) continue;
        std::string& value = variables[line.substr(0, equals)];
        for (std::size_t i = equals + 2; i < line.size() - 1; ++i) value += line[i] == '\\' ? line[++i] : line[i];
    }
    return variables;
}

bool SystemUnit::possible() { return path_exists("/run/systemd/system"); }

fs::path SystemUnit::path() const { return fs::path("/etc/systemd/system") / name_; }

Task<> SystemUnit::install(ProcessRunner& processes, bool now) const {
    const auto before = read_file(path());
    CO_TRY_VOID(write_durably(path(), text_, 0644));
    CO_TRY_VOID(co_await systemctl(processes, {"daemon-reload"}));
    CO_TRY_VOID(co_await systemctl(processes, {"enable", name_}));
    if (now) CO_TRY_VOID(co_await systemctl(processes, {before && *before != text_ ? "restart" : "start", name_}));
    co_return {};
}

Task<> SystemUnit::remove(ProcessRunner& processes, bool stop) const {
    if (!possible() || !path_exists(path())) co_return {};
    if (stop) CO_TRY_VOID(co_await systemctl(processes, {"stop", name_}));
    CO_TRY_VOID(co_await systemctl(processes, {"disable", name_}));
    std::error_code error;
    fs::remove(path(), error);
    co_return co_await systemctl(processes, {"daemon-reload"});
}

}  // namespace porthole::local_cluster
