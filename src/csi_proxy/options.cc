#include "csi_proxy/options.h"

#include "base/flag_set.h"

namespace porthole::csi_proxy {
namespace {

void add_flags(FlagSet& flags, CsiProxyOptions& options) {
    flags.add("kubelet-path", options.kubelet_path, "the kubelet's directory: drivers may name paths below it, and no others");
    flags.add("working-dir", options.working_directories, "further directories below which they may name paths");
    flags.add("allowed-services", options.services, "services that drivers may start and stop (default: the iSCSI initiator, msiscsi)");
    flags.add("require-privacy", options.require_privacy, "map only shares that can be reached encrypted");
    flags.add("v", options.verbosity, "the level of detail of the log");
    flags.add("log-dir", options.log_directory, "a directory for csi-proxy.log");
    flags.add("log-file", options.log_file, "a file for the log");
    flags.add("logtostderr", options.log_to_stderr, "log to standard error instead of files");
    flags.add("windows-service", options.windows_service, "run under Windows' service manager");
    for (const char* name : {"kubelet-csi-plugins-path", "kubelet-pod-path"}) flags.add_ignored(name, "--kubelet-path says both");
    flags.add_ignored("metrics-bind-address", "metrics are not served");
    for (const char* name : {"alsologtostderr", "skip-headers", "skip-log-headers", "add-dir-header", "one-output"})
        flags.add_ignored_switch(name, "it is not configurable here");
    for (const char* name : {"stderrthreshold", "vmodule", "log-file-max-size", "log-backtrace-at"})
        flags.add_ignored(name, "it is not configurable here");
}

}  // namespace

Result<CsiProxyOptions> parse_csi_proxy_options(const std::vector<std::string>& arguments) {
    CsiProxyOptions options;
    FlagSet flags;
    add_flags(flags, options);
    std::vector<std::string> words;
    for (const std::string& word : arguments)
        words.push_back(word.size() > 1 && word[0] == '-' && word[1] != '-' && word.find('=') != 1 ? "-" + word : word);
    TRY_VOID(flags.parse(words));
    options.warnings = flags.warnings();
    for (const std::string& service : options.services) {
        auto named = check_service(service);
        if (!named) return std::move(named).error().with_context("--allowed-services");
    }
    auto rules = path_rules_of(options);
    if (!rules) return std::move(rules).error().with_context("--kubelet-path");
    return options;
}

Result<PathRules> path_rules_of(const CsiProxyOptions& options) {
    std::vector<std::string> directories = options.working_directories;
    directories.insert(directories.begin(), options.kubelet_path);
    return PathRules::create(directories);
}

std::string csi_proxy_flags_help() {
    CsiProxyOptions options;
    FlagSet flags;
    add_flags(flags, options);
    return flags.help();
}

}  // namespace porthole::csi_proxy
