#include "node_join/windows_node/node_plan.h"
#include "runtime/windows_command_line.h"

namespace porthole::node_join {

using namespace winservice;
namespace {

/// A whole command line as one argument of another.
std::string nested(const std::vector<std::string>& command) {
    const std::vector<std::string> words{"x", windows_command_line(command)};
    return windows_command_line(words).substr(2);
}

std::string line(std::vector<std::string> words) { return windows_command_line(words); }

std::string join_words(const std::vector<std::string>& words, const char* between) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
    return all;
}

}  // namespace

// sc.exe wants "name= value": the blank after the equals sign is part of its grammar.
std::vector<std::string> sc_commands(std::span<const ServiceDefinition> services) {
    std::vector<std::string> lines;
    for (const ServiceDefinition& service : services) {
        std::string create = "sc.exe create " + service.name + " binPath= " + nested(service.command) + " start= auto";
        if (!service.depends_on.empty()) create += " depend= " + join_words(service.depends_on, "/");
        lines.push_back(std::move(create));
        lines.push_back(line({"sc.exe", "description", service.name, service.description}));
        lines.push_back("sc.exe failure " + service.name + " reset= 86400 actions= restart/5000/restart/10000/restart/30000");
        lines.push_back("sc.exe failureflag " + service.name + " 1");
    }
    for (const ServiceDefinition& service : services) lines.push_back("sc.exe start " + service.name);
    return lines;
}

std::vector<std::string> nssm_commands(const WindowsNode& node, std::span<const ServiceDefinition> services) {
    std::vector<std::string> lines;
    for (const ServiceDefinition& service : services) {
        std::vector<std::string> install{"nssm", "install", service.name, service.command.front()};
        for (std::size_t i = 1; i < service.command.size(); ++i) {
            if (service.command[i] != "--windows-service") install.push_back(service.command[i]);
        }
        lines.push_back(line(std::move(install)));
        std::vector<std::string> environment{"nssm", "set", service.name, "AppEnvironmentExtra"};
        for (const auto& [name, value] : service.environment) environment.push_back(name + "=" + value);
        lines.push_back(line(std::move(environment)));
        lines.push_back(line({"nssm", "set", service.name, "AppDirectory", node.folder}));
        for (const char* stream : {"AppStdout", "AppStderr"}) {
            lines.push_back(line({"nssm", "set", service.name, stream, node.log_folder + "\\" + service.name + ".out.log"}));
        }
        if (!service.depends_on.empty())
            lines.push_back("nssm set " + service.name + " DependOnService " + join_words(service.depends_on, " "));
    }
    for (const ServiceDefinition& service : services) lines.push_back("nssm start " + service.name);
    return lines;
}

}  // namespace porthole::node_join
