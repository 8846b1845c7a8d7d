#include "local_cluster/hosts/emulated_host.h"

#include <algorithm>
#include <sstream>

#include "base/strings.h"
#include "bundled_images/bundled_images.h"
#include "local_cluster/hosts/host_files.h"
#include "local_cluster/processes/failing_start.h"
#include "local_cluster/processes/node_progress.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {

using namespace node_join;
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// The last line that a program printed before it failed: the one that says why.
std::string last_line(const CommandOutput& result) {
    const std::string text(trim(result.errors.empty() ? result.output : result.errors));
    return text.empty() ? "exit code " + std::to_string(result.exit_code) : text.substr(text.rfind('\n') + 1);
}

}  // namespace

Result<void> EmulatedHost::preflight() {
    if (path_exists("/usr/lib/wine/wine64") || path_exists("/usr/lib/x86_64-linux-gnu/wine")) return {};
    return Error(Reason::NotFound,
                 "an emulated Windows node needs Wine: apt-get install wine64; or start without Windows nodes: --nodes linux=1");
}

ChildCommand EmulatedHost::command() const {
    std::vector<std::string> words = {
        own_program().string(), "winhost", "run", "--name", node_.name, "--profile", node_.windows_profile, "--data", folder().string()};
    if (!node_.wine_root.empty()) words.insert(words.end(), {"--wine-root", node_.wine_root});
    return {.arguments = std::move(words), .log_file = log_file(), .network_namespace = "/run/netns/" + node_.network_namespace};
}

Command EmulatedHost::winhost(const std::string& verb, std::vector<std::string> more) const {
    Command command{.arguments = {own_program().string(), "winhost", verb, "--data", folder().string()}};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
}

Task<> EmulatedHost::ensure_ready() {
    // The host logs each step, and every half minute that it goes on: a slow machine makes the Windows root file system for many minutes.
    ProgressLimit limit(loop_.now(), 2min, 40min);
    FailingStart start(log_file(), loop_.now());
    for (;;) {
        CO_TRY(const CommandOutput status, co_await processes_.run(winhost("status")));
        if (status.exit_code == 0) co_return {};
        std::error_code ignored;
        const MonotonicTime now = loop_.now();
        if (start.is_hopeless(now) || limit.is_passed(now, std::to_string(fs::file_size(log_file(), ignored)))) {
            const std::string why = start.last_words().empty() ? last_line(status) : start.last_words();
            co_return Error(Reason::Timeout, "the emulated host does not start: " + why + "; see " + log_file().string());
        }
        CO_TRY_VOID(co_await loop_.sleep(100ms));
    }
}

SystemTime EmulatedHost::running_since() const {
    const ProcessId first = HostFiles(folder()).first_process();
    return is_running(first) ? started_at(first, loop_.wall_now()) : loop_.wall_now();
}

bool EmulatedHost::has_joined(const std::vector<std::string>& servers) const {
    return std::ranges::find(servers, HostFiles(folder()).joined_server()) != servers.end();
}

Task<> EmulatedHost::join(ForeignCluster target, std::string backend) {
    std::vector<std::string> words = {"--",
                                      "kubeadm.exe",
                                      "join",
                                      target.server,
                                      "--token-file",
                                      "-",
                                      "--discovery-token-ca-cert-hash",
                                      target.ca_hash,
                                      "--node-name",
                                      node_.name,
                                      "--label",
                                      "porthole.dev/emulated=true",
                                      "--shared-disk"};
    const NetworkWishes& wishes = target.wishes;
    for (const auto& [flag, value] :
         {std::pair("--network-mode", backend.empty()      ? ""
                                      : backend == "vxlan" ? "overlay"
                                                           : "l2bridge"),
          std::pair("--cluster-cidr", wishes.cluster_cidr.c_str()), std::pair("--service-cidr", wishes.service_cidr.c_str()),
          std::pair("--cluster-dns", wishes.cluster_dns.c_str()), std::pair("--cluster-domain", wishes.cluster_domain.c_str())}) {
        if (*value) words.insert(words.end(), {flag, value});
    }
    Command command = winhost("exec", std::move(words));
    command.input = target.token + "\n";  // a command line can be read by everyone on this machine
    CO_TRY(const CommandOutput result, co_await processes_.run(std::move(command)));
    CO_TRY_VOID(write_durably(data_.logs() / (node_.name + "-join.log"), result.output + result.errors));
    if (result.exit_code != 0) co_return Error(Reason::Unavailable, "the host cannot join: " + last_line(result));
    co_return HostFiles(folder()).note_joined(target.server);
}

Task<std::vector<std::string>> EmulatedHost::import(fs::path archive) {
    std::error_code ignored;  // of a working directory that has gone
    Command load = winhost("load", {fs::absolute(archive, ignored).string()});
    load.limit = bundled_images::import_limit(archive);
    CO_TRY(const CommandOutput loaded, co_await processes_.run(std::move(load)));
    if (loaded.exit_code != 0) co_return Error(Reason::BadRequest, node_.name + ": " + last_line(loaded));
    std::vector<std::string> names;
    std::istringstream lines(loaded.output);
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    co_return names;
}

Task<> EmulatedHost::clean_up() {
    if (!path_exists(folder())) co_return {};
    CO_TRY(const CommandOutput cleaned, co_await processes_.run(winhost("cleanup")));
    if (cleaned.exit_code != 0) co_return Error(Reason::Io, "cleaning up " + node_.name + ": " + last_line(cleaned));
    co_return {};
}

}  // namespace porthole::local_cluster
